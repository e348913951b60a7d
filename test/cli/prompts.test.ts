import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { namedSeeds } from "../../emulator/compose/state/seed.ts";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../support/cli/nda.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { ctrlC, ctrlD, downKey, enterKey, simulateUser } from "../support/cli/simulated-user.ts";

interface Recipients {
  readonly items: readonly { readonly recipient: { readonly user: { readonly email: string } } }[];
}

describe("user at a terminal", () => {
  it("is prompted for missing input, with only the response on standard output", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const response = await emulator.api("POST", "/api/v2.1/public/contracts/", {
      body: { contract_template_id: 101, contract_data: {}, counter_party_details: [] },
    });
    assert.equal(response.status, 201);
    const ada = simulateUser(["Composite id", enterKey]);
    const { exit, stdout, stderr } = await svc("contracts status --json", ada);
    assert.deepEqual([exit, JSON.parse(stdout).contract_status, ada.waiting()], [0, "DRAFT", []]);
    assert.match(stripVTControlCharacters(stderr), /T-1 {2}Mutual NDA {2}DRAFT/);
  });

  it("selects among the contracts to which a command applies", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    // The prompt lists up to 100 contracts.
    for (let i = 1; i <= 102; i += 1) {
      await emulator.api("POST", "/api/v2.1/public/contracts/", { body: JSON.parse(ndaContractJson) });
      if (i > 1) await emulator.api("POST", `/api/v2.1/public/contracts/T-${i}/mark_for_execution/`, { body: {} });
    }
    const ada = simulateUser(["Composite id", enterKey]);
    const { exit, stderr } = await svc("contracts send", ada);
    const choices = stripVTControlCharacters(stderr);
    assert.deepEqual(
      [exit, choices.includes("T-102  "), choices.includes("T-1  NDA  DRAFT")],
      [0, false, true],
      stderr,
    );
    assert.equal((await json("contracts status T-1")).contract_status, "SIGN");
  });

  it("selects the workflow of an intake and existing intakes", async (t) => {
    const { svc } = await startCliEmulator(t);
    const ada = simulateUser(["Title", `Review it${enterKey}`], ["Workflow id", enterKey]);
    const result = await svc("intake create --json=id,title", ada);
    assert.deepEqual(
      [result.exit, JSON.parse(result.stdout), ada.waiting()],
      [0, { id: 1, title: "Review it" }, []],
      result.stderr,
    );
    const choices = stripVTControlCharacters(result.stderr);
    assert.deepEqual([/201 {2}Legal help/.test(choices), /20[234] {2}/.test(choices)], [true, false], choices);

    const bob = simulateUser(["Intake id", enterKey]);
    const intake = await svc("intake show --json=id", bob);
    assert.deepEqual([intake.exit, JSON.parse(intake.stdout), bob.waiting()], [0, { id: 1 }, []], intake.stderr);
    assert.match(stripVTControlCharacters(intake.stderr), /1 {2}Review it {2}PENDING/);
  });

  it("selects among the workflows of earlier intakes of a service", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc("intake create --title First --workflow-id 201");
    const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
    const cwd = await createTestFolder(t);
    const env = { SVC_CONFIG_DIR: cwd, SVC_BASE_URL: url, SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret };
    const ada = simulateUser(["Title", `Second${enterKey}`], ["Workflow id", enterKey]);
    const { exit, stderr } = await runCli("intake create", { ...ada, env, cwd });
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
    assert.match(stripVTControlCharacters(stderr), /201 {2}Legal help/);
  });

  it("selects among existing settings", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "profiles.json"), '{"profiles":{"default":{"client_id":"wk_1"}},"current":"default"}');
    const ada = simulateUser(["Key", `${downKey}${downKey}${enterKey}`]);
    const { exit, stdout, stderr } = await runCli("config get", { ...ada, env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual([exit, stdout, ada.waiting()], [0, "wk_1\n", []], stderr);
  });

  it("selects a setting and types its value", async (t) => {
    const cwd = await createTestFolder(t);
    const url = "https://router.example";
    const ada = simulateUser(["Key", enterKey], ["Value", `${url}${enterKey}`]);
    const { exit, stderr } = await runCli("config set", { ...ada, env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
    const { profiles } = JSON.parse(await readFile(join(cwd, "profiles.json"), "utf8"));
    assert.deepEqual(profiles, { default: { router_url: url } });
  });

  it("selects among existing clusters", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const ada = simulateUser(["Cluster id", `${downKey}${enterKey}`]);
    const { exit, stderr } = await svc("router map-clients --client-ids c-1", ada);
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
    const { body } = await emulator.router("GET", "/router/v1/cluster_clients/client/c-1");
    assert.equal((body as { cluster_id: string }).cluster_id, "us-1");
  });

  it("is prompted for input that only some command lines require", async (t) => {
    const { svc, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "ids.txt"), "c-1\n");
    const env = { SVC_STATE_DIR: join(cwd, "state") };
    const ada = simulateUser(["File", `ids.txt${enterKey}`], ["Cluster", `${downKey}${enterKey}`]);
    const result = await svc("router map-clients", { ...ada, env });
    assert.deepEqual(
      [result.exit, result.stdout, ada.waiting()],
      [0, "Mapped 1 client ID to us-1\n", []],
      result.stderr,
    );

    const again = simulateUser(["Job", enterKey]);
    const job = await svc("router jobs show --json=command,status", { ...again, env });
    assert.deepEqual([job.exit, JSON.parse(job.stdout)], [0, { command: "map-clients", status: "done" }], job.stderr);
    assert.deepEqual(again.waiting(), []);

    const login = simulateUser(["Client id", `demo-cli${enterKey}`]);
    assert.equal((await svc("auth device-login --no-wait --no-browser", { ...login, env })).exit, 8);
    assert.deepEqual(login.waiting(), []);
  });

  it("is prompted for fields that depend on the values of others", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const ada = simulateUser(
      ["Is individual", `y${enterKey}`],
      ["Contact name", `Jo${enterKey}`],
      ["Contact email", `jo@acme.example${enterKey}`],
    );
    const created = await svc("contracts counterparties create --json=name", ada);
    assert.deepEqual(
      [created.exit, created.stdout && JSON.parse(created.stdout), ada.waiting()],
      [0, { name: "Jo" }, []],
      created.stderr,
    );

    const incoming = simulateUser(
      ["Direction", enterKey],
      ["One of these options", `${downKey}${downKey}${enterKey}`],
      ["Status", `503${enterKey}`],
    );
    assert.equal((await svc("emulator fault add", incoming)).exit, 0);
    const outgoing = simulateUser(["Direction", `${downKey}${enterKey}`], ["Effect", enterKey]);
    assert.equal((await svc("emulator fault add", outgoing)).exit, 0);
    const faults = await json<{ status: number; effect: string }[]>("emulator fault list");
    assert.deepEqual(
      [faults.map(({ status, effect }) => status ?? effect), incoming.waiting(), outgoing.waiting()],
      [[503, "duplicate"], [], []],
    );

    const clock = simulateUser(["One of these options", `${downKey}${downKey}${enterKey}`]);
    assert.deepEqual([(await svc("emulator clock advance", clock)).exit, clock.waiting()], [0, []]);
    const { exit, stderr } = await svc("emulator clock advance --by 1h --next", simulateUser([":", ctrlC]));
    const rule = "error: exactly one of --by, --to, --next and --until-idle is required\n";
    assert.deepEqual([exit, stderr], [2, `${rule}  See svc emulator clock advance --help.\n`]);
  });

  it("sees the missing input instead of a question without a valid answer", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    const assertRejected = async (
      line: string,
      exit: number,
      words: RegExp,
      env: Record<string, string | undefined> = {},
    ) => {
      const nobody = simulateUser([":", ctrlC]);
      const run = await svc(line, { ...nobody, env: { SVC_STATE_DIR: cwd, ...env } });
      const stderr = stripVTControlCharacters(run.stderr);
      assert.deepEqual([run.exit, words.test(stderr), stderr.includes("? ")], [exit, true, false], stderr);
    };
    await assertRejected("contracts send", 5, /status DRAFT\. None found\.\n {2}try: svc contracts create/);
    await assertRejected("contracts status", 5, /No contracts found\.\n {2}try: svc contracts create/);
    await json("contracts create --data -", { stdin: ndaContractJson });
    await assertRejected("emulator sign", 5, /requires a contract in status SIGN/);
    await assertRejected("emulator resume", 5, /requires a contract in status ON_HOLD/);
    await assertRejected("emulator snapshot restore", 5, /No snapshots found\./);
    await assertRejected("webhooks delete", 5, /No webhooks found\./);
    await assertRejected("config use", 5, /No profiles found\./);
    await assertRejected("config remove", 5, /No profiles found\./);
    await assertRejected("router jobs resume", 5, /No stopped jobs found\./);
    const nowhere = { SVC_BASE_URL: "", SVC_ROUTER_URL: "", SVC_CONTRACTS_URL: "" };
    await assertRejected("contracts send", 2, /No service address is configured\./, nowhere);
    await assertRejected("webhooks create", 2, /No service address is configured\./, nowhere);
  });

  it("selects among existing webhooks and contract numbers", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const url = "https://hooks.example/x";
    await json(["webhooks", "create", "--title", "mine", "--url", url, "--only-for-activities", "CONTRACT_SIGNED"]);
    const removal = simulateUser(["Webhook id", enterKey]);
    const result = await svc("webhooks delete --yes", removal);
    assert.deepEqual([result.exit, removal.waiting()], [0, []], result.stderr);
    const again = simulateUser(["Contract ids", enterKey]);
    const triggered = await svc("webhooks re-trigger --dry-run", again);
    assert.match(stripVTControlCharacters(triggered.stderr), /1 {2}NDA {2}DRAFT/);
    assert.deepEqual([triggered.exit, again.waiting()], [0, []], triggered.stderr);
  });

  it("fills in a template's attributes and sees the equivalent command line", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const ada = simulateUser(
      ["Contract template id", `${downKey}${enterKey}`],
      ["Start date", `2031-02-30${enterKey}`],
      ["This must be a date", `${"\u007f".repeat(10)}2031-05-07${enterKey}`],
      ["Seats", `12${enterKey}`],
      ["Fill in optional fields (Plan)?", `y${enterKey}`],
      ["Plan?", `y${enterKey}`],
      ["Plan:", `${downKey}${enterKey}`],
      ["Who is the counterparty?", enterKey],
      ["Name of the organization", `Acme's${enterKey}`],
      ["First name", `Jo${enterKey}`],
      ["Last name", enterKey],
      ["E-mail", `jo@acme${enterKey}`],
      ["This must be an e-mail address", `.example${enterKey}`],
      ["Name of your signatory", `Ada Keller${enterKey}`],
      ["Their e-mail", `ada@northwind.example${enterKey}`],
    );
    const { exit, stdout, stderr } = await svc("contracts create --json=id", ada);
    assert.deepEqual([exit, JSON.parse(stdout || "{}"), ada.waiting()], [0, { id: "T-1" }, []], stderr);
    assert.deepEqual(
      (await json<Recipients>("contracts recipients T-1")).items.map(({ recipient }) => recipient.user.email),
      ["jo@acme.example", "ada@northwind.example"],
    );
    const again = simulateUser(
      ["Contract template id", enterKey],
      ["Who is the counterparty?", `${downKey}${enterKey}`],
      ["First name", `Jo${enterKey}`],
      ["Last name", `Doe${enterKey}`],
      ["E-mail", `jo@acme.example${enterKey}`],
    );
    const result = await svc("contracts create", again);
    assert.deepEqual([result.exit, again.waiting()], [0, []], result.stderr);
    assert.match(
      result.stderr,
      /To run this without prompts:\n {2}svc contracts create --contract-template-id 101 --set 'contract_data=\{\}' --set 'counter_party_details=\[/,
    );
  });

  it("answers a question of each type", async (t) => {
    const options = [
      { label: "Chairs", value: "chairs" },
      { label: "Desks", value: "desks" },
    ];
    const attributes = ["boolean", "float", "enum", "array of options", "array of strings", "repeating", "string"].map(
      (type) => ({
        variable: type,
        display_label: `A ${type}`,
        type,
        required: true,
        options: type === "enum" ? [] : options,
      }),
    );
    const templates = [{ id: 111, workspace_id: 1, contract_type_id: 301, name: "Lease", attributes }];
    const { svc } = await startCliEmulator(t, { seed: { ...namedSeeds.demo, templates } });
    const backspace = "\u007f";
    const ada = simulateUser(
      ["A boolean?", `y${enterKey}`],
      ["A float:", `much${enterKey}`],
      ["This must be a number", `${backspace.repeat(4)}1.5${enterKey}`],
      ["A enum:", `plus${enterKey}`],
      ["A array of options:", ` ${downKey} ${enterKey}`],
      ["A array of strings:", `a, b${enterKey}`],
      ["A repeating:", `{}${enterKey}`],
      ["This must be a JSON list", `${backspace.repeat(2)}[{"item":"Desk"}]${enterKey}`],
      ["A string:", enterKey],
      ["A value is required", `x${enterKey}`],
      ["Who is the counterparty?", `${downKey}${enterKey}`],
      ["First name", `Jo${enterKey}`],
      ["Last name", enterKey],
      ["E-mail", `jo@acme.example${enterKey}`],
    );
    const { exit, stdout, stderr } = await svc("contracts create --contract-template-id 111 --dry-run --json", ada);
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
    assert.deepEqual(JSON.parse(stdout).body.contract_data, {
      boolean: true,
      float: 1.5,
      enum: "plus",
      "array of options": ["chairs", "desks"],
      "array of strings": ["a", "b"],
      repeating: [{ item: "Desk" }],
      string: "x",
    });
  });

  it("receives no prompt if --data or --set contains all required input", async (t) => {
    const { svc, cwd } = await startCliEmulator(t);
    const body = { contract_template_id: 101, contract_data: {}, counter_party_details: [] };
    await writeFile(join(cwd, "c.json"), JSON.stringify(body));
    const { exit, stderr } = await svc("contracts create --data c.json", { tty: true });
    assert.deepEqual([exit, stripVTControlCharacters(stderr).includes("?")], [0, false], stderr);
  });

  it("selects only among contracts that can be marked", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    for (const id of ["T-1", "T-2"]) {
      await emulator.api("POST", "/api/v2.1/public/contracts/", { body: JSON.parse(ndaContractJson) });
      if (id === "T-2")
        await emulator.api("POST", `/api/v2.1/public/contracts/${id}/mark_for_execution/`, { body: {} });
    }
    const ada = simulateUser(["Composite id", enterKey]);
    const { exit, stderr } = await svc("contracts mark", ada);
    assert.deepEqual([exit, /T-2 {2}/.test(stripVTControlCharacters(stderr))], [0, false], stderr);
  });

  it("selects a draft whose internal review can be completed", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    await svc("emulator request-review T-1");
    const ada = simulateUser(["Id", enterKey]);
    const { exit, stderr } = await svc("emulator complete-review", ada);
    assert.deepEqual([exit, ada.waiting()], [0, []], stderr);
  });

  it("types several numbers with blanks between them", async (t) => {
    const { svc } = await startCliEmulator(t);
    const ada = simulateUser(["Id", `7 x${enterKey}`], ["must be a whole number", `\u007f8${enterKey}`]);
    const { exit, stderr } = await svc("emulator deliveries resend", ada);
    assert.deepEqual([exit, ada.waiting()], [5, []], stderr);
    assert.match(stripVTControlCharacters(stderr), /error: Delivery 7 not found/);
  });

  it("declines and changes nothing, with exit 1 and one line", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "profiles.json"), '{"profiles":{"old":{}}}');
    const ada = simulateUser(["Remove profile old", enterKey]);
    const { exit, stderr } = await runCli("config remove old", { ...ada, env: { SVC_CONFIG_DIR: cwd } });
    assert.equal(exit, 1);
    assert.match(stripVTControlCharacters(stderr), /error: Nothing was changed\.\n$/);
    const sure = simulateUser(["Remove profile old", `y${enterKey}`]);
    assert.equal((await runCli("config remove old", { ...sure, env: { SVC_CONFIG_DIR: cwd } })).exit, 0);
  });

  it("types the name to confirm an irreversible change", async (t) => {
    const { svc } = await startCliEmulator(t);
    const wrong = simulateUser(["Type eu-1 to continue", `eu${enterKey}`]);
    const argv = ["router", "offboard", "eu-1", "--set", 'client_ids=["c-1"]'];
    assert.equal((await svc(argv, wrong)).exit, 1);
    const right = simulateUser(["Type eu-1 to continue", `eu-1${enterKey}`]);
    const { exit, stderr } = await svc(argv, right);
    assert.deepEqual([exit, right.waiting()], [0, []], stderr);
  });

  it("leaves a prompt by Ctrl-C with exit 130 and no output", async (t) => {
    const { svc } = await startCliEmulator(t);
    const ada = simulateUser(["Cluster id", ctrlC]);
    const { exit, stdout, stderr } = await svc("router offboard", ada);
    assert.deepEqual([exit, stdout], [130, ""]);
    assert.equal(/error|Exit|at .*\.js/.test(stripVTControlCharacters(stderr)), false, stderr);
  });

  it("leaves an empty prompt by Ctrl-D with exit 130 and no output", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const [line, question] of [
      ["router offboard", "Cluster id"],
      ["intake create", "Title"],
      ["contracts create", "Contract template id"],
    ] as const) {
      const { exit, stdout, stderr } = await svc(line, simulateUser([question, ctrlD]));
      assert.deepEqual(
        [exit, stdout, /error|Exit|at .*\.js/.test(stripVTControlCharacters(stderr))],
        [130, "", false],
        stderr,
      );
    }
  });

  it("sees no colors with NO_COLOR", async (t) => {
    const { svc } = await startCliEmulator(t);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are control sequences
    const colours = /\u001b\[[\d;]*m/;
    const plain = await svc("router offboard", { ...simulateUser(["Cluster id", ctrlC]), env: { NO_COLOR: "1" } });
    assert.equal(colours.test(plain.stderr), false, JSON.stringify(plain.stderr));
  });
});

describe("svc without a terminal", () => {
  const cases: [string, object][] = [
    ["in a pipe", {}],
    ["in CI", { tty: true, env: { CI: "true" } }],
    ["with SVC_NO_INPUT", { tty: true, env: { SVC_NO_INPUT: "1" } }],
  ];
  for (const [location, options] of cases) {
    it(`shows no prompt ${location} and reports the missing input with exit 2`, async () => {
      const { exit, stdout, stderr } = await runCli("router offboard", options);
      assert.deepEqual([exit, stdout], [2, ""]);
      assert.match(stderr, /required\n {2}See svc router offboard --help\.\n$/);
    });
  }

  it("shows no prompt with --no-input", async () => {
    const { exit, stderr } = await runCli("contracts status --no-input", { tty: true });
    assert.deepEqual([exit, stderr], [2, "error: <composite-id> is required\n  See svc contracts status --help.\n"]);
  });
});
