import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getOperationById } from "../../src/api/registry.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { enterKey, simulateUser } from "../support/cli/simulated-user.ts";
import { startReceiver } from "../support/receiver.ts";

/** The commands of one operation that require a confirmation. For the mapping tables, see test/cli/bulk. */
const confirmationByCommand = {
  "contracts contacts delete": "yes",
  "contracts void": "name",
  "emulator reset": "yes",
  "emulator snapshot remove": "yes",
  "emulator state import": "yes",
  "emulator tokens revoke": "yes",
  "emulator workspaces remove": "yes",
  "intake delete": "yes",
  "router offboard": "name",
  "router unmap-chat-a-teams": "yes",
  "router unmap-clients": "yes",
  "router unmap-counterparty-tokens": "yes",
  "router unmap-creator-tokens": "yes",
  "router unmap-emails": "yes",
  "router unmap-external-integrations": "yes",
  "webhooks delete": "yes",
};
/** Commands that remove test data of the emulator, or that offboarding confirms as a whole. */
const harmless = [
  "emulator clear-requests",
  "emulator console sign-out",
  "emulator fault remove",
  "emulator remove-signatories",
];

const env = {
  SVC_CLIENT_ID: "id",
  SVC_CLIENT_SECRET: "secret",
  SVC_TOKEN: "token",
  SVC_BASIC_AUTH: "user:password",
  SVC_CLUSTER_KEY: "key",
  SVC_EMULATOR_TOKEN: "token",
};

const changing = Object.values(deriveSpecs())
  .flat()
  .filter(({ method }) => method !== "GET")
  .filter(({ id, words }) => words[0] === "router" || !("by" in getOperationById(id).cli))
  .map(({ words, method, examples }) => ({
    name: words.join(" "),
    method,
    argv: words.includes("import") ? [...words, "--data", "-"] : (examples[0]?.argv ?? words),
  }));

/** Removes --confirm and its value. */
const removeConfirmation = (argv: readonly string[]) => {
  const at = argv.indexOf("--confirm");
  return at < 0 ? argv : argv.toSpliced(at, 2);
};

describe("confirmation prompt", () => {
  it("is required by exactly the commands that remove data", async (t) => {
    const service = await startReceiver(t);
    const levels: Record<string, string> = {};
    for (const { name, argv } of changing) {
      const sent = service.received.length;
      const words = [...removeConfirmation(argv), "--base-url", service.url, "--retries", "0"];
      const { stderr } = await runCli(words, { env, stdin: '{"svc_state":1}' });
      const level = /--yes required/.test(stderr)
        ? "yes"
        : /--confirm \S+ is required/.test(stderr)
          ? "name"
          : undefined;
      if (level === undefined) continue;
      levels[name] = level;
      assert.equal(service.received.length, sent, `${name} asked, and sent`);
    }
    assert.deepEqual(Object.fromEntries(Object.entries(levels).sort()), confirmationByCommand);
  });

  it("is required by every command that deletes", () => {
    const deleting = changing.filter(({ method }) => method === "DELETE").map(({ name }) => name);
    assert.deepEqual(deleting.filter((name) => !(name in confirmationByCommand)).sort(), harmless);
  });

  it("is required for irreversible changes but never shown without a terminal", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("intake create --title x --workflow-id 201");
    const result = await svc("intake delete 1");
    assert.equal(result.exit, 2);
    assert.match(
      result.stderr,
      /^error: --yes required when not running interactively\n {2}\S.*\? Add --yes to confirm\.\n$/,
    );
    assert.equal((await svc("intake show 1")).exit, 0);
    assert.equal((await svc("intake delete 1 --yes")).exit, 0);
    // An unknown intake returns 403 (DECISIONS.md, C1).
    assert.equal((await svc("intake show 1")).exit, 4);
  });

  it("requires the name of the object in addition to --yes", async (t) => {
    const { svc } = await startCliEmulator(t);
    const offboard = "router offboard eu-1 --client-ids a";
    assert.match((await svc(`${offboard} --yes`)).stderr, /--confirm eu-1 is required/);
    assert.match((await svc(`${offboard} --confirm us-1`)).stderr, /--confirm must be eu-1/);
    assert.deepEqual((await svc(`${offboard} --confirm eu-1`)).exit, 0);
  });

  it("is not shown in CI or with --no-input, even on a terminal", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const [argv, env] of [
      ["intake delete 1", { CI: "true" }],
      ["intake delete 1", { SVC_NO_INPUT: "1" }],
      ["intake delete 1 --no-input", {}],
    ] as const) {
      assert.equal((await svc(argv, { tty: true, env })).exit, 2, JSON.stringify([argv, env]));
    }
  });

  it("lists the objects to remove and their number", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const [argv, question] of [
      ["contracts contacts delete 7 9", "Delete a contact of a counterparty (counter party ID 7, contact ID 9)?"],
      ["router unmap-clients --cluster eu-1 --client-ids a --client-ids b", "Remove 2 client IDs from eu-1?"],
      ["emulator reset", "Reset the state to the seed?"],
    ] as const) {
      const ada = simulateUser([question, enterKey]);
      const { exit, stderr } = await svc(argv, ada);
      assert.deepEqual([exit, ada.waiting()], [1, []], stderr);
      assert.match(stderr, /error: Nothing was changed\.\n$/);
    }
  });

  it("requires the ID of a contract to void, typed or repeated", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await emulator.api("POST", "/api/v2.1/public/contracts/", {
      body: { contract_template_id: 101, contract_data: {}, counter_party_details: [] },
    });
    const argv = ["contracts", "void", "T-1", "--note", "Deal lost"];
    const result = await svc([...argv, "--yes"]);
    assert.deepEqual(
      [result.exit, result.stderr],
      [
        2,
        "error: --confirm T-1 is required, because this cannot be undone\n" +
          "  The command would do this: Void a contract (composite ID T-1).\n",
      ],
    );
    const wrong = simulateUser(["Type T-1 to continue", `T-2${enterKey}`]);
    assert.equal((await svc(argv, wrong)).exit, 1);
    assert.equal((await json("contracts status T-1")).contract_status, "DRAFT");
    assert.equal((await svc([...argv, "--confirm", "T-1"])).exit, 0);
    assert.equal((await json("contracts status T-1")).contract_status, "VOIDED");
  });
});
