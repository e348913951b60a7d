import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { hasProgram, openSvcTerminal, type Terminal } from "../../support/cli/terminal.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const skip = hasProgram("tmux") ? false : "tmux is not installed";

/** svc at its own terminal with this service. */
async function openTerminalAt(
  t: TestContext,
  argv: readonly string[],
  url: string,
  env: Readonly<Record<string, string>> = {},
) {
  const folder = await createTestFolder(t);
  await writeFile(join(folder, "profiles.json"), '{"profiles":{"old":{}}}');
  const settings = { SVC_BASE_URL: url, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret", SVC_CLUSTER_KEY: "key" };
  return openSvcTerminal(t, argv, {
    folder,
    env: { ...settings, SVC_CONFIG_DIR: folder, SVC_STATE_DIR: folder, ...env },
  });
}

/** Checks thon Ctrl-C ended the command silently and the terminal is restored. */
async function assertTerminalRestored({ waitFor, cursor }: Terminal): Promise<void> {
  const screen = await waitFor(/^done$/m);
  assert.match(screen, /exit=130$/m);
  assert.equal(/error:|modes changed|\.js:\d/.test(screen), false, screen);
  assert.equal(await cursor(), true);
}

/** A service with this many templates, one of which requires options. */
async function startTemplateService(t: TestContext, count: number): Promise<string> {
  const service = await startReceiver(t);
  const options = [{ label: "Desk", value: 1 }];
  const variable = { variable: "v", display_label: "Furniture", required: true, default_value: null };
  const body = JSON.stringify({
    items: Array.from({ length: count }, (_, id) => ({ id, name: `Template ${id}` })),
    attributes: [{ ...variable, type: "array of options", options }],
    counter_party_kind: "Individual",
  });
  service.respond((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(body));
  return service.url;
}

const nowhere = "http://127.0.0.1:1";

describe("Ctrl-C at a terminal", { skip }, () => {
  const questions: readonly [string, string, (t: TestContext) => Promise<string> | string, string][] = [
    ["a list", "contracts templates show", (t) => startTemplateService(t, 2), "Template 1"],
    ["a searchable list", "contracts templates show", (t) => startTemplateService(t, 20), "Template 1"],
    ["a line of text", "contracts templates show --retries 0", () => nowhere, "Template id"],
    ["a secret", "config set client_secret", () => nowhere, "client_secret"],
    ["a confirmation", "config remove old", () => nowhere, "(y/N)"],
    ["a name", 'router offboard eu-1 --set client_ids=["c"]', () => nowhere, "Type eu-1"],
  ];
  for (const [label, line, service, prompt] of questions) {
    it(`leaves a prompt for ${label}`, async (t) => {
      const terminal = await openTerminalAt(t, line.split(" "), await service(t));
      await terminal.waitFor(prompt);
      await terminal.keys("C-c");
      await assertTerminalRestored(terminal);
    });
  }

  it("leaves a prompt for several options after earlier prompts", async (t) => {
    const terminal = await openTerminalAt(t, ["contracts", "create"], await startTemplateService(t, 1));
    await terminal.waitFor("Template 0");
    await terminal.keys("Enter");
    await terminal.waitFor("Desk");
    await terminal.keys("C-c");
    await assertTerminalRestored(terminal);
  });

  it("ends a wait with a spinner in a window without a width", async (t) => {
    const service = await startReceiver(t);
    service.respond(() => {});
    const terminal = await openTerminalAt(t, ["router", "health"], service.url);
    await terminal.waitFor("Check the health");
    await terminal.resize(0);
    await terminal.keys("C-c");
    await assertTerminalRestored(terminal);
  });

  it("completes a wait with a spinner in a window without a width", async (t) => {
    const service = await startReceiver(t);
    let respond = () => {};
    service.respond((_, response) => {
      respond = () => response.writeHead(200).end('{"database":true}');
    });
    const terminal = await openTerminalAt(t, ["router", "health"], service.url);
    await terminal.waitFor("Check the health");
    await terminal.resize(0);
    respond();
    await terminal.waitFor(/^exit=0$/m);
  });
});

/** An editor that handles Ctrl-C as a key and saves on request. */
const withKeys = `
  const { writeFileSync } = require("node:fs");
  let times = 0;
  process.on("SIGINT", () => console.log("took Ctrl-C " + ++times));
  process.stdin.on("data", () => { writeFileSync(process.argv.at(-1), JSON.stringify({ by: "hand" })); process.exit(0); });
  console.log("editing");`;

/** An editor thon Ctrl-C ends. */
const editorScript = `setInterval(() => {}, 1000); console.log("editing");`;

describe("Ctrl-C in an editor", { skip }, () => {
  async function editing(t: TestContext, program: string) {
    const emulator = await startTestEmulator(t);
    const receiving = await startReceiver(t);
    await emulator.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "w", url: receiving.url, only_for_activities: ["CONTRACT_SIGNED"] },
    });
    const folder = await createTestFolder(t);
    await writeFile(join(folder, "editor.cjs"), program);
    const host = { env: {} } as unknown as Parameters<typeof buildChildEnvironment>[1];
    const env = {
      ...buildChildEnvironment(emulator, host),
      EDITOR: `${process.execPath} ${join(folder, "editor.cjs")}`,
    };
    const contract = { contract_template_id: 101, contract_data: {}, counter_party_details: [] };
    await emulator.api("POST", "/api/v2.1/public/contracts/", { body: contract });
    const terminal = await openTerminalAt(
      t,
      ["webhooks", "trigger", "CONTRACT_SIGNED", "--edit"],
      emulator.routerUrl,
      env,
    );
    await terminal.waitFor("editing");
    return { terminal, sent: () => receiving.received.map(({ body }) => body.toString()) };
  }

  it("reaches only the editor, whose saved content is sent", async (t) => {
    const { terminal, sent } = await editing(t, withKeys);
    for (const times of [1, 2, 3]) {
      await terminal.keys("C-c");
      await terminal.waitFor(`took Ctrl-C ${times}`);
    }
    await terminal.keys("Enter");
    await terminal.waitFor(/^exit=0$/m);
    assert.deepEqual(sent(), ['{"by":"hand"}']);
  });

  it("ends svc together with the editor and sends nothing", async (t) => {
    const { terminal, sent } = await editing(t, editorScript);
    await terminal.keys("C-c");
    await assertTerminalRestored(terminal);
    assert.deepEqual(sent(), []);
  });
});
