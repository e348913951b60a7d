import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { root } from "../../structure/repository.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { findInteractiveEscape, hostileText, startHostileTextService } from "../../support/cli/hostile-text.ts";
import { hasProgram, openSvcTerminal, type Terminal } from "../../support/cli/terminal.ts";
import { startReceiver } from "../../support/receiver.ts";

const skip = hasProgram("tmux") ? false : "tmux is not installed";

/** The text on the screen, and the keys to press then. */
type Step = readonly [seen: string | RegExp, ...keys: string[]];

interface Visit {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  /** Runs while the command is in progress. */
  readonly meanwhile?: (terminal: Terminal) => Promise<void>;
  readonly exit: number;
}

const credentials = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret-of-tests", SVC_CLUSTER_KEY: "key-of-tests" };

/** Runs the command at a real terminal and checks every byte written to the terminal. */
async function runVisit(t: TestContext, argv: readonly string[], visit: Visit): Promise<string> {
  const { files = {}, env, steps = [], meanwhile, exit } = visit;
  const folder = await createTestFolder(t);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const surroundings = { ...credentials, SVC_CONFIG_DIR: folder, SVC_STATE_DIR: folder, ...env };
  const terminal = await openSvcTerminal(t, argv, { folder, env: surroundings, columns: 200 });
  for (const [prompt, ...keys] of steps) {
    await terminal.waitFor(prompt);
    await terminal.keys(...keys);
  }
  await meanwhile?.(terminal);
  const screen = await terminal.waitFor(/^done$/m);
  assert.match(screen, new RegExp(`^(?:\\^C)?exit=${exit}$`, "m"));
  assert.equal(screen.includes("modes changed"), false, screen);
  const output = await terminal.readOutput();
  assert.equal(findInteractiveEscape(output), undefined);
  return output;
}

/** A lone surrogate is dropped, because encoding would replace it with U+FFFD. */
const attackSent = hostileText.replace("\ud800", "");

const createAttribute = (overrides: object) => ({
  variable: hostileText,
  display_label: hostileText,
  help_text: hostileText,
  required: true,
  default_value: null,
  options: [
    { label: hostileText, value: hostileText },
    { label: `${hostileText}2`, value: 2 },
  ],
  ...overrides,
});

/** A response to every read (templates, contracts, attributes) and to a creation. */
const createHostileBody = (count: number) => ({
  items: Array.from({ length: count }, (_, id) => ({ id, name: `${id} ${hostileText}` })),
  results: [{ id: "T-1", contract_name: hostileText, contract_status: hostileText }],
  attributes: [
    createAttribute({ type: "string" }),
    createAttribute({ type: "enum" }),
    createAttribute({ type: "array of options" }),
    createAttribute({ type: "boolean" }),
    createAttribute({ type: "date", required: false }),
  ],
  counter_party_kind: "Individual",
  id: hostileText,
});

/** The attack as displayed to a user. */
const escapedText = /pwn\\n::stop-commands::/;

describe("untrusted string at a terminal", { skip }, () => {
  it("is harmless as a template to select", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body: createHostileBody(3) });
    const steps: Step[] = [["2  2 pwn", "Down", "Enter"]];
    assert.match(
      await runVisit(t, ["contracts", "templates", "show", "--base-url", url], { steps, exit: 0 }),
      escapedText,
    );
  });

  it("is harmless as a template to search", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body: createHostileBody(18) });
    const steps: Step[] = [
      ["Template id", "17 pwn"],
      [/17 pwn\s+.*17 {2}17 pwn/, "Enter"],
    ];
    assert.match(
      await runVisit(t, ["contracts", "templates", "show", "--base-url", url], { steps, exit: 0 }),
      escapedText,
    );
  });

  it("is harmless as a contract", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body: createHostileBody(1) });
    const steps: Step[] = [["T-1  pwn", "Enter"]];
    assert.match(await runVisit(t, ["contracts", "status", "--base-url", url], { steps, exit: 0 }), escapedText);
  });

  it("is harmless as a cluster", async (t) => {
    const body = [{ cluster_id: hostileText, cluster_label: hostileText }];
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body });
    const steps: Step[] = [["Cluster id", "Enter"]];
    const argv = ["router", "map-clients", "--client-ids", "c-1", "--base-url", url];
    // Moves require a lookup of the client, which a list response does not contain.
    assert.match(await runVisit(t, argv, { steps, exit: 1 }), escapedText);
  });

  it("is harmless as a profile", async (t) => {
    const files = { "profiles.json": JSON.stringify({ profiles: { [hostileText]: {} } }) };
    assert.match(await runVisit(t, ["config", "use"], { files, steps: [["pwn", "Enter"]], exit: 0 }), escapedText);
  });

  it("is harmless as a question of a template", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body: createHostileBody(1) });
    const steps: Step[] = [
      ["Contract template id", "Enter"],
      [/\? pwn/, "said", "Enter"],
      [/❯ pwn/, "Enter"],
      ["◯", "Space", "Enter"],
      ["(y/N)", "y", "Enter"],
      ["Fill in optional fields", "n", "Enter"],
      ["First name", "Jo", "Enter"],
      ["Last name", "Doe", "Enter"],
      ["E-mail", "jo@acme.example", "Enter"],
    ];
    const output = await runVisit(t, ["contracts", "create", "--base-url", url], { steps, exit: 0 });
    assert.match(output, /To run this without prompts/);
  });

  it("is harmless in the findings of doctor", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({ status: 422, body: { detail: hostileText } });
    assert.match(await runVisit(t, ["doctor", "--base-url", url], { exit: 1 }), escapedText);
  });

  it("is harmless in deliveries and in responses of the forwarding target", async (t) => {
    const program = await startReceiver(t);
    program.respond((_, response) => response.writeHead(500, "pwn ::stop-commands::").end(attackSent));
    const env = { SVC_WEBHOOK_HMAC_KEY: Buffer.alloc(64, 7).toString("base64") };
    const argv = ["webhooks", "listen", "--no-register", "--forward-to", program.url];
    const output = await runVisit(t, [...argv, "--base-url", program.url], {
      env,
      exit: 130,
      async meanwhile(terminal) {
        const [, url] = /Listening on (\S+) /.exec(await terminal.waitFor(/Listening on \S+ \(press/))!;
        const body = JSON.stringify({ activity: hostileText, contract_id: 7 });
        await fetch(`${url}/%1b%5b2J`, { method: "POST", body, headers: { "x-content-hash": "\x9b2J" } });
        await terminal.waitFor("<-- 500");
        await terminal.keys("C-c");
      },
    });
    assert.match(output, escapedText);
  });

  it("is harmless as a file name and as a response of a receiver", async (t) => {
    const program = await startReceiver(t);
    program.respond((_, response) => response.writeHead(500).end(attackSent));
    const name = "pwn\n::stop-commands::\x1b[2J\u202e.json";
    const env = { SVC_WEBHOOK_HMAC_KEY: Buffer.alloc(64, 7).toString("base64") };
    const argv = ["webhooks", "replay", name, "--to", program.url];
    assert.match(await runVisit(t, argv, { env, files: { [name]: "{}" }, exit: 1 }), escapedText);
  });

  it("is harmless in a seed and quoted in commands to copy", async (t) => {
    const demo = JSON.parse(await readFile(join(root, "fixtures/seeds/demo.json"), "utf8"));
    const [cluster, ...clusters] = demo.clusters;
    const [first, ...workspaces] = demo.workspaces;
    const keys = { client_id: "id; touch pwned", client_secret: "$(touch pwned)" };
    const seed = JSON.stringify({
      ...demo,
      clusters: [{ ...cluster, label: hostileText }, ...clusters],
      workspaces: [{ ...first, ...keys, name: hostileText }, ...workspaces],
    });
    const argv = ["emulator", "start", "--ephemeral", "--port", "0", "--seed", "seed.json"];
    const steps: Step[] = [["Press Ctrl-C to stop it.", "C-c"]];
    const output = await runVisit(t, argv, { files: { "seed.json": seed }, steps, exit: 130 });
    assert.ok(output.includes("export SVC_CLIENT_ID='id; touch pwned'\r\n"), output);
    assert.ok(output.includes("export SVC_CLIENT_SECRET='$(touch pwned)'\r\n"), output);
  });

  it("is absent from the tour, which controls only its own lines", async (t) => {
    assert.match(await runVisit(t, ["tour"], { exit: 0 }), /Tour complete/);
  });
});
