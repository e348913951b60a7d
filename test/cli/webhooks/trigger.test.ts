import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { activities } from "../../../src/api/activities.ts";
import { startCliEmulator, startCliEmulatorWithReceiver } from "../../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";
import { startReceiver } from "../../support/receiver.ts";

const parsePayload = ({ body }: { body: Buffer }) => JSON.parse(body.toString("utf8")) as Record<string, unknown>;

describe("svc webhooks trigger", () => {
  it("lists the 39 activities with their groups", async () => {
    const { exit, stdout } = await runCli("webhooks trigger --json");
    const rows = JSON.parse(stdout) as { activity: string; group: string }[];
    assert.deepEqual([exit, rows.map(({ activity }) => activity)], [0, activities]);
    assert.equal(rows[0]!.group, "Contract lifecycle");
  });

  it("sends overridden values to the receiver and prints its response", async (t) => {
    const { json, app, webhook } = await startCliEmulatorWithReceiver(t);
    const argv = [
      ..."webhooks trigger contract-signed --contract T-1 --set contract_status=EXECUTED".split(" "),
      ..."--set counterparties.0.poc_email=x@y.example --set contract_type_id=7 --data -".split(" "),
    ];
    const [row] = await json<Record<string, unknown>[]>(argv, { stdin: '{"colour":"blue"}' });
    const { delivery, duration_ms, ...rest } = row!;
    assert.deepEqual([typeof delivery, typeof duration_ms], ["number", "number"]);
    assert.deepEqual(rest, {
      webhook_id: webhook,
      activity: "CONTRACT_SIGNED",
      contract: "T-1",
      url: app.url,
      status: 200,
      response: "status 200",
      outcome: "delivered",
      status_text: "delivered",
      next_attempt_at: null,
      response_body: "",
    });
    const { contract_status, counterparties, contract_type_id, activity_data } = parsePayload(app.received[0]!);
    assert.deepEqual(
      [contract_status, (counterparties as { poc_email: string }[])[0]!.poc_email, contract_type_id],
      ["EXECUTED", "x@y.example", 7],
    );
    assert.equal((activity_data as { colour: string }).colour, "blue");
    assert.equal((await json<{ contract_status: string }>("contracts status T-1")).contract_status, "DRAFT");
  });

  it("adds and removes payload fields, or sends another payload", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    const trigger = ["webhooks", "trigger", "CONTRACT_SIGNED"];
    assert.equal((await svc([...trigger, "--add", "tags=[1]", "--remove", "counterparties[0].poc_email"])).exit, 0);
    assert.equal((await svc([...trigger, "--raw", "-", "--set", "a.b=2"], { stdin: '{"a":{"b":1}}' })).exit, 0);
    const [amended, raw] = app.received.map(parsePayload);
    const [first] = amended!.counterparties as Record<string, unknown>[];
    assert.deepEqual([amended!.tags, "poc_email" in first!, raw], [[1], false, { a: { b: 2 } }]);
    for (const [flags, exit, message] of [
      [["--remove", "tags"], 1, "The payload has no tags"],
      [["--add", "contract_title=x"], 1, "the payload already has it"],
      [["--add", "tags"], 2, "--add must be PATH=VALUE"],
      [["--raw", "-", "--data", "x.json"], 2, "--data cannot be used with --raw"],
      [["--edit"], 2, "--edit requires a terminal"],
    ] as const) {
      const result = await svc([...trigger, ...flags], { stdin: "{}" });
      assert.deepEqual([result.exit, result.stderr.includes(message)], [exit, true], result.stderr);
    }
    assert.equal(app.received.length, 2);
  });

  it("preserves the notation of numbers in --raw, --data, --set, --add and --edit", async (t) => {
    const { svc, app, cwd } = await startCliEmulatorWithReceiver(t);
    const trigger = ["webhooks", "trigger", "CONTRACT_SIGNED"];
    const numbers = '{"big":12345678901234567890,"price":1.10,"power":1e5}';
    await svc([...trigger, "--raw", "-", "--add", "sum=99999999999999999999.50"], { stdin: numbers });
    await svc([...trigger, "--data", "-", "--set", "contract_title=2.0"], { stdin: numbers });
    const script = join(cwd, "editor.mjs");
    await writeFile(
      script,
      `import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
      const file = process.argv[2];
      writeFileSync(file, readFileSync(file, "utf8").replace("1.10", "1.20"));`,
    );
    const env = { EDITOR: `${process.execPath} ${script}` };
    const edited = await svc([...trigger, "--edit", "--add", "price=1.10"], { tty: true, env });
    assert.equal(edited.exit, 0, edited.stderr);
    const [raw, data, byHand] = app.received.map(({ body }) => body.toString());
    assert.equal(raw, `${numbers.slice(0, -1)},"sum":99999999999999999999.50}`);
    assert.ok(data!.includes(numbers.slice(1, -1)) && data!.includes('"contract_title":2.0,'), data);
    assert.ok(byHand!.includes('"price":1.20'), byHand);
  });

  it("sends the edited payload after a correction, or cancels", async (t) => {
    const { svc, app, cwd } = await startCliEmulatorWithReceiver(t);
    /** Each run of the editor saves the next text, or leaves the payload unchanged. */
    const edit = async (texts: readonly (string | null)[], editor: RunOptions) => {
      const script = join(cwd, "editor.mjs");
      await writeFile(
        script,
        `import { readFileSync, writeFileSync } from "node:fs";
        const [, , left, file] = process.argv;
        const [text, ...others] = JSON.parse(readFileSync(left, "utf8"));
        if (process.env.SVC_CLIENT_SECRET) process.exit(3);
        if (text !== null) writeFileSync(file, text);
        writeFileSync(left, JSON.stringify(others));`,
      );
      await writeFile(join(cwd, "texts.json"), JSON.stringify(texts));
      const EDITOR = `${process.execPath} ${script} ${join(cwd, "texts.json")}`;
      return svc("webhooks trigger CONTRACT_SIGNED --edit --set contract_title=Lease", { ...editor, env: { EDITOR } });
    };
    const ada = simulateUser(["This is not JSON", `y${enterKey}`]);
    assert.deepEqual([(await edit(["{", '{"by":"hand"}'], ada)).exit, ada.waiting()], [0, []]);
    assert.deepEqual(parsePayload(app.received[0]!), { by: "hand" });
    assert.equal((await edit([null], { tty: true })).exit, 0);
    assert.equal(parsePayload(app.received[1]!).contract_title, "Lease");
    const thought = await edit(["\n"], { tty: true });
    assert.deepEqual([thought.exit, thought.stderr.includes("error: Nothing was sent.")], [1, true]);
    const result = await svc("webhooks trigger CONTRACT_SIGNED --edit", {
      tty: true,
      env: { EDITOR: "no-such-editor" },
    });
    assert.deepEqual([result.exit, result.stderr.includes("The editor no-such-editor cannot be started")], [1, true]);
    assert.equal(app.received.length, 2);
  });

  it("exits 1 when the receiver is unreachable or does not respond with 2xx", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    app.respond(302);
    const redirected = await svc("webhooks trigger CONTRACT_SIGNED --json=status,response,outcome");
    assert.deepEqual(
      [redirected.exit, JSON.parse(redirected.stdout)],
      [1, [{ status: 302, response: "status 302", outcome: "retrying" }]],
    );
    app.respond((_, response) => response.destroy());
    const result = await svc("webhooks trigger CONTRACT_SIGNED --json=status,outcome");
    assert.deepEqual([result.exit, JSON.parse(result.stdout)], [1, [{ status: null, outcome: "retrying" }]]);
  });

  it("exits 1 without a subscriber or for an override without a match", async (t) => {
    const { svc, app, json } = await startCliEmulatorWithReceiver(t);
    const nobody = await svc("webhooks trigger CONTRACT_VOIDED --json");
    assert.deepEqual([nobody.exit, nobody.stdout, JSON.parse(nobody.stderr).error.code], [1, "", "no_subscriber"]);
    for (const [path, message] of [
      ["contract_state=X", /has no contract_state\. Known: activity, activity_data, contract_id,/],
      ["counterparties.1.poc_email=X", /has no counterparties\.1\.poc_email\. Known: 0 /],
      ["entity.name.first=X", /has no entity\.name\.first\. Known: nothing /],
    ] as const) {
      const { exit, stderr } = await svc(["webhooks", "trigger", "CONTRACT_SIGNED", "--set", path]);
      assert.equal(exit, 1);
      assert.match(stderr, message);
    }
    assert.equal(app.received.length, 0);
    assert.deepEqual(await json("webhooks deliveries"), { items: [], total: 0 });
  });

  it("exits 2 for an unknown activity and 5 for an unknown contract", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    const typo = await svc("webhooks trigger CONTRACT_SIGNT");
    assert.deepEqual([typo.exit, typo.stderr.includes("Did you mean CONTRACT_SIGNED?")], [2, true]);
    const result = await svc("webhooks trigger CONTRACT_SIGNED --contract T-9");
    assert.deepEqual([result.exit, result.stderr.includes("Contract T-9 not found")], [5, true]);
    const dryRun = await svc("webhooks trigger CONTRACT_SIGNED --dry-run --json");
    assert.deepEqual([dryRun.exit, JSON.parse(dryRun.stdout).body], [0, { activity: "CONTRACT_SIGNED", wait: true }]);
    assert.equal(app.received.length, 0);
  });

  it("sends an activity to a single webhook", async (t) => {
    const { svc, app, webhook, json } = await startCliEmulatorWithReceiver(t);
    const otherReceiver = await startReceiver(t);
    const argv = ["webhooks", "create", "--title", "other", "--url", otherReceiver.url];
    const { id } = await json<{ id: number }>([...argv, "--only-for-activities", "CONTRACT_SIGNED"]);
    const sent = await svc(`webhooks trigger CONTRACT_SIGNED --webhook ${id}`);
    assert.deepEqual([sent.exit, app.received.length, otherReceiver.received.length], [0, 0, 1], sent.stderr);
    const result = await svc("webhooks trigger CONTRACT_SIGNED --webhook 9");
    assert.deepEqual([webhook, result.exit, result.stderr.includes("Webhook 9 not found")], [1, 5, true]);
  });

  it("stores nothing without a subscriber, or if the editing of the payload is cancelled", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    const readState = async () => (await emulator.control("GET", "state")).body;
    const empty = await readState();
    const result = await svc("webhooks trigger CONTRACT_SIGNED");
    assert.deepEqual(result, {
      exit: 1,
      stdout: "",
      stderr: `error: No webhook is subscribed to CONTRACT_SIGNED. Nothing was sent (HTTP 409)
  Subscribe a receiver on this machine:
  try: svc webhooks listen
`,
    });
    assert.deepEqual(await readState(), empty);
    const argv = ["webhooks", "create", "--title", "x", "--url", app.url, "--only-for-activities"];
    const { id } = await json<{ id: number }>([...argv, "CONTRACT_SIGNED"]);
    const subscribed = await readState();
    const other = await svc(`webhooks trigger CONTRACT_VOIDED --webhook ${id}`);
    assert.deepEqual(
      [other.exit, other.stderr.split("\n")[0]],
      [1, `error: Webhook ${id} is not subscribed to CONTRACT_VOIDED. Nothing was sent (HTTP 409)`],
    );
    const editor = { tty: true, env: { EDITOR: "false" } };
    assert.equal((await svc("webhooks trigger CONTRACT_SIGNED --edit", editor)).exit, 1);
    assert.deepEqual(await readState(), subscribed);
    const edited = await svc("webhooks trigger CONTRACT_SIGNED --edit", { tty: true, env: { EDITOR: "true" } });
    assert.deepEqual([edited.exit, parsePayload(app.received[0]!).contract_id], [0, 1], edited.stderr);
  });

  it("creates a contract if the workspace has none", async (t) => {
    const { svc } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(["webhooks", "create", "--title", "x", "--url", app.url, "--only-for-activities", "CONTRACT_SIGNED"]);
    const { exit, stderr } = await svc("webhooks trigger CONTRACT_SIGNED");
    assert.deepEqual([exit, app.received.length], [0, 1], stderr);
  });
});

describe("svc webhooks replay", () => {
  it("resends the latest deliveries with valid signatures, without counting them", async (t) => {
    const { svc, app, json } = await startCliEmulatorWithReceiver(t);
    for (const status of ["A", "B", "C"]) await svc(`webhooks trigger CONTRACT_SIGNED --set contract_status=${status}`);
    const before = app.received.map(({ body, headers }) => [body.toString(), headers["x-svc-webhook-content-hash"]]);
    app.respond((_, response) => response.writeHead(500).end("out of\norder\n"));
    const { exit, stdout } = await svc("webhooks replay --last 2");
    assert.equal(exit, 1);
    assert.match(
      stdout,
      /^--> \d+ CONTRACT_SIGNED http:.*\n<-- 500 in \d+ ms: out of order\n--> \d+ CONTRACT_SIGNED http:.*\n<-- 500 in \d+ ms: out of order\n$/,
    );
    const after = app.received
      .slice(3)
      .map(({ body, headers }) => [body.toString(), headers["x-svc-webhook-content-hash"]]);
    assert.deepEqual(after, before.slice(1));
    assert.equal((await json<{ failure_count: number }[]>("emulator webhooks"))[0]!.failure_count, 0);
  });

  it("resends more deliveries than the emulator lists at once", async (t) => {
    const { emulator, json, webhook } = await startCliEmulatorWithReceiver(t);
    const sent = { label: "of another program", headers: {}, body: "{}", status: 500, duration_ms: 1 };
    const body = { webhook, activity: "CONTRACT_SIGNED", ...sent };
    for (let i = 0; i < 600; i += 1) await emulator.control("POST", "deliveries", { body });
    for (const last of [1, 600])
      assert.equal((await json<unknown[]>(`webhooks replay --last ${last} --dry-run`)).length, last);
  });

  it("signs a body without headers, and requires a key to do so", async (t) => {
    const app = await startReceiver(t);
    const key = Buffer.alloc(64, 7).toString("base64");
    const argv = ["webhooks", "replay", "-", "--to", app.url];
    const { exit } = await runCli(argv, { stdin: '{"a":1}', env: { SVC_WEBHOOK_HMAC_KEY: key } });
    assert.equal(exit, 0);
    const signature = String(app.received[0]!.headers["x-svc-webhook-content-hash"]);
    const verify = ["webhooks", "verify", "-", "--signature", signature];
    assert.equal((await runCli(verify, { stdin: '{"a":1}', env: { SVC_WEBHOOK_HMAC_KEY: key } })).stdout, "valid\n");
    const without = await runCli(argv, { stdin: "{}" });
    assert.deepEqual(
      [without.exit, without.stderr.includes("--key-file or SVC_WEBHOOK_HMAC_KEY is required")],
      [2, true],
    );
  });

  for (const [to, url] of [
    ["3000", "http://localhost:3000"],
    [":3000/hooks/", "http://localhost:3000/hooks/"],
    ["3000?to=/", "http://localhost:3000?to=/"],
    ["app.local:3000?to=/", "http://app.local:3000?to=/"],
    ["[::1]:3000/hooks", "http://[::1]:3000/hooks"],
  ] as const) {
    it(`sends to ${url} for --to ${to}`, async () => {
      const { stdout } = await runCli(["webhooks", "replay", "-", "--to", to, "--dry-run", "--json"], {
        stdin: "{}",
        env: { SVC_WEBHOOK_HMAC_KEY: "a2V5" },
      });
      assert.deepEqual(JSON.parse(stdout), [{ delivery: "-", url, bytes: 2 }]);
    });
  }

  for (const [argv, message] of [
    ["webhooks replay", "<files> or --last is required"],
    ["webhooks replay a --last 1", "<files> cannot be used with --last"],
    ["webhooks replay nowhere.json --to 3000", "no such file"],
    ["webhooks replay nowhere.json", "--to is required"],
    ["webhooks replay --last 1 --from nowhere --to 3000", "--from: cannot read"],
    ["webhooks replay --last 0", "must be at least 1, got"],
  ] as const) {
    it(`exits 2 for svc ${argv}`, async () => {
      const { exit, stdout, stderr } = await runCli(argv);
      assert.deepEqual([exit, stdout, stderr.includes(message)], [2, "", true], stderr);
    });
  }
});

describe("svc webhooks deliveries", () => {
  it("lists and filters deliveries with their latest response", async (t) => {
    const { svc, app, webhook } = await startCliEmulatorWithReceiver(t);
    await svc("webhooks trigger CONTRACT_SIGNED");
    app.respond(503);
    await svc("webhooks trigger CONTRACT_SIGNED");
    const columns = "webhook_id,outcome,last_response,next_attempt_at";
    const retrying = `${webhook}\tretrying\tstatus 503\t2031-01-02T03:09:05.000Z\n`;
    const delivered = `${webhook}\tdelivered\tstatus 200\t\n`;
    for (const [filter, rows] of [
      ["", retrying + delivered],
      [" --outcome delivered", delivered],
      [" --activity CONTRACT_VOIDED", ""],
    ]) {
      assert.equal((await svc(`webhooks deliveries --fields ${columns}${filter}`)).stdout, rows);
    }
  });

  it("follows attempts and skipped deliveries until Ctrl-C", async (t) => {
    const { svc, app, webhook } = await startCliEmulatorWithReceiver(t);
    const watching = startCommand(svc, ["webhooks", "deliveries", "--follow", "--json"]);
    await watching.saw('"version"');
    app.respond(500);
    await svc("webhooks trigger CONTRACT_SIGNED");
    await watching.saw('"retrying"');
    app.respond(200);
    await svc("emulator clock advance --by PT5M");
    await watching.saw('"delivered"');
    await svc(`emulator webhooks disable ${webhook}`);
    await svc("webhooks trigger CONTRACT_SIGNED");
    await watching.saw('"skipped_disabled"');
    watching.signal("SIGINT");
    assert.equal((await watching.completion).exit, 130);
    const deliveries = watching.events().slice(1) as {
      at: string;
      outcome: string;
      attempt: { number: number; status: number } | null;
    }[];
    assert.deepEqual(
      deliveries.map(({ at, outcome, attempt }) => [at, outcome, attempt && [attempt.number, attempt.status]]),
      [
        ["2031-01-02T03:04:05.000Z", "retrying", [1, 500]],
        ["2031-01-02T03:09:05.000Z", "delivered", [2, 200]],
        ["2031-01-02T03:09:05.000Z", "skipped_disabled", null],
      ],
    );
  });

  it("follows the attempt that disables the webhook without calling the delivery retrying", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    app.respond(500);
    for (let i = 0; i < 4; i += 1) await svc("webhooks trigger CONTRACT_SIGNED");
    const watching = startCommand(svc, ["webhooks", "deliveries", "--follow"]);
    while (!watching.stderr().includes("Following")) await svc("emulator ready");
    await svc("webhooks trigger CONTRACT_SIGNED");
    await watching.saw("delivery 5");
    await svc("webhooks trigger CONTRACT_SIGNED");
    await watching.saw("delivery 6");
    watching.signal("SIGINT");
    assert.deepEqual((await watching.completion).stdout.split("\n"), [
      "2031-01-02T03:04:05.000Z delivery 5 CONTRACT_SIGNED T-1 attempt 1: status 500, retrying, next 2031-01-02T03:09:05.000Z",
      "2031-01-02T03:04:05.000Z delivery 6 CONTRACT_SIGNED T-1 attempt 1: status 500, retry at 2031-01-02T03:09:05.000Z will be skipped: DISABLED_BY_ERROR",
      "",
    ]);
  });

  it("follows deliveries with a given outcome, and omits those without an attempt", async (t) => {
    const { svc, app } = await startCliEmulatorWithReceiver(t);
    const watching = startCommand(svc, ["webhooks", "deliveries", "--follow", "--outcome", "delivered", "--json"]);
    await watching.saw('"version"');
    app.respond(500);
    await svc("webhooks trigger CONTRACT_SIGNED");
    app.respond(200);
    await svc("emulator clock advance --by PT5M");
    await svc("webhooks trigger CONTRACT_SIGNED");
    await watching.saw('"id":2');
    watching.signal("SIGINT");
    await watching.completion;
    assert.deepEqual(
      watching
        .events()
        .slice(1)
        .map(({ id, outcome }) => [id, outcome]),
      [
        [1, "delivered"],
        [2, "delivered"],
      ],
    );
    for (const option of ["--outcome waiting", "--limit 5", "--offset 5", "--all"]) {
      const { exit, stderr } = await svc(`webhooks deliveries --follow ${option}`);
      const name = option.replace(/ 5$/, "");
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, `error: ${name} cannot be used with --follow`]);
    }
  });

  it("exits when the emulator stops", async (t) => {
    const { svc } = await startCliEmulatorWithReceiver(t);
    const watching = startCommand(svc, ["webhooks", "deliveries", "--follow"]);
    while (!watching.stderr().includes("Following")) await svc("emulator ready");
    assert.equal((await svc("emulator stop")).exit, 0);
    assert.deepEqual(await watching.completion, {
      exit: 0,
      stdout: "",
      stderr: "Following (press Ctrl-C to stop)\nThe emulator has ended\n",
    });
  });
});
