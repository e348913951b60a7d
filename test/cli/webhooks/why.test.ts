import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract, createExecutedImport, requireContract } from "../../support/contracts.ts";
import { startReceiver } from "../../support/receiver.ts";

const deadUrl = "http://127.0.0.1:9/hook";
const create = (title: string, url: string) =>
  `webhooks create --title ${title} --url ${url} --only-for-activities CONTRACT_CREATED`;

describe("svc webhooks why", () => {
  it("reports the first failure, the last response and how to enable the webhook", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 5 * 60_000 });
    const first = await svc("webhooks why");
    const [moved] = /advance:\d+/.exec(first.stdout) ?? [];
    assert.deepEqual(first, {
      exit: 1,
      stdout: [
        `Webhook 1  Mine  ${deadUrl}  ACTIVE  workspace 1 (Northwind Legal)`,
        "",
        "Attempts:",
        "  2031-01-02T03:04:05.000Z  connection_refused  attempt 1 of 7  CONTRACT_CREATED T-1  the first attempt",
        `  2031-01-02T03:09:05.000Z  connection_refused  attempt 2 of 7  CONTRACT_CREATED T-1  retry 1, 5 min after connection_refused; ${moved} advanced the clock`,
        "",
        "Failing since 2031-01-02T03:04:05.000Z, first with CONTRACT_CREATED T-1: connection refused.",
        "Last attempt: connection refused.",
        "2 attempts failed in a row. The sixth consecutive failure disables the webhook.",
        "Because of request:2  contracts.create POST /api/v2.1/public/contracts/  2031-01-02T03:04:05.000Z",
        "",
        "Next attempt 2031-01-02T03:19:05.000Z, retry 2, 10 min after connection_refused. To make it now: svc emulator clock advance --to 2031-01-02T03:19:05.000Z",
        "Start the receiver.",
        "",
      ].join("\n"),
      stderr: "",
    });
    await emulator.clock.advance({ by: 3 * 3_600_000 });
    const { stdout } = await svc(`webhooks why ${deadUrl}`);
    assert.match(stdout, /05:39:05\.000Z {2}connection_refused {2}attempt 6 of 7 {2}/);
    const trace = await svc("emulator trace webhook:1");
    assert.match(trace.stdout, /08:19:05\.000Z .*planned: attempt 7 {2}retry 6, 160 min/);
    assert.match(
      stdout,
      /\n\nFailing since 2031-01-02T03:04:05.*\nLast attempt: connection refused\.\nDisabled after 6 consecutive failures, at 2031-01-02T05:39:05.000Z \(attempt:1\.6\)\. Scheduled attempts are skipped\.\n/,
    );
    assert.match(
      stdout,
      /\nStart the receiver\.\nEnable the webhook: svc emulator webhooks enable 1\nResend the undelivered delivery: svc emulator webhooks resend 1\n$/,
    );
  });

  it("shows where a redirect leads, without secrets of its query", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Mine", app.url));
    app.respond((_, response) =>
      response.writeHead(302, { location: "https://new.example/hooks?token=s3cret#a" }).end(),
    );
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const { stdout } = await svc("webhooks why");
    const target = "https://new.example/hooks?token=[redacted]";
    assert.ok(
      stdout.includes(
        `\nLast attempt: the receiver responded 302, a redirect to ${target}. Redirects are not followed.\n`,
      ),
      stdout,
    );
    const { attempts } = JSON.parse((await svc("emulator deliveries show 1 --json")).stdout);
    assert.equal(attempts[0].location, target);
    app.respond((_, response) => response.writeHead(404, { location: "https://new.example/hooks" }).end());
    await emulator.clock.advance({ by: 5 * 60_000 });
    assert.ok(!(await svc("emulator deliveries show 1 --json")).stdout.includes('https://new.example/hooks"'));
  });

  it("attributes a failure to the requests since the last success", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Mine", app.url));
    const createAfter = async (status: number) => {
      app.respond(status);
      await createDraftContract(emulator.api);
      await emulator.clock.advance({ by: 1_000 });
    };
    for (const status of [500, 200, 503]) await createAfter(status);
    const { stdout } = await svc("webhooks why --json");
    const { because_of } = JSON.parse(stdout) as { because_of: readonly { at: string; what: string }[] };
    assert.deepEqual(
      because_of.map(({ at, what }) => [at, what]),
      [["2031-01-02T03:04:07.000Z", "contracts.create POST /api/v2.1/public/contracts/"]],
    );
  });

  it("reports when and by which request a user disabled the webhook", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await emulator.clock.advance({ by: 60_000 });
    const disabled = await json<{ disabled_at: string; disabled_by: string }>("emulator webhooks disable 1");
    assert.equal(disabled.disabled_at, "2031-01-02T03:05:05.000Z");
    assert.match(disabled.disabled_by, /^request:\d+$/);
    await emulator.clock.advance({ by: 60_000 });
    const { stdout } = await svc("webhooks why 1");
    assert.equal(
      stdout.split("\n")[2],
      `Disabled by a user at 2031-01-02T03:05:05.000Z (${disabled.disabled_by}). Scheduled attempts are skipped.`,
    );
    const again = await json<object>("emulator webhooks disable 1");
    assert.deepEqual(again, disabled);
    const enabled = await json<object>("emulator webhooks enable 1");
    assert.deepEqual(enabled, { ...disabled, status: "ACTIVE", disabled_at: null, disabled_by: null });
  });

  it("reports planned attempts of a disabled webhook as skipped", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    const getDelivery = async () => {
      const [row] = await json<Record<string, unknown>[]>(
        "emulator deliveries --fields outcome,next_attempt_at,webhook_status",
      );
      return row;
    };
    const explain = async () => /Next attempt .*|Not retried.*/.exec((await svc("webhooks why")).stdout)?.[0];
    const due = "2031-01-02T08:19:05.000Z";
    await emulator.clock.advance({ by: 155 * 60_000 });
    assert.deepEqual(await getDelivery(), {
      outcome: "retrying",
      next_attempt_at: due,
      webhook_status: "DISABLED_BY_ERROR",
    });
    assert.equal(await explain(), `Next attempt ${due}: skipped, unless you enable the webhook before then`);
    const { stdout } = await svc("webhooks schedule --json");
    assert.match(stdout, /will be skipped: the webhook is DISABLED_BY_ERROR/);

    await emulator.clock.advance({ by: 160 * 60_000 });
    assert.deepEqual(await getDelivery(), {
      outcome: "skipped_disabled",
      next_attempt_at: null,
      webhook_status: "DISABLED_BY_ERROR",
    });
    assert.equal(await explain(), "Not retried, because the webhook was disabled: 1. List them with --all");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 60_000 });
    const { stdout: output } = await svc("webhooks why --all");
    assert.deepEqual(
      output
        .split("\n")
        .slice(9)
        .filter((line) => !line.startsWith("Because of ")),
      [
        "",
        "Skipped without an attempt: 1",
        "  2031-01-02T08:19:05.000Z  delivery:2  CONTRACT_CREATED T-2",
        "",
        "Not retried, because the webhook was disabled: 1",
        "  2031-01-02T03:04:05.000Z  delivery:1  CONTRACT_CREATED T-1",
        "",
        "Failing since 2031-01-02T03:04:05.000Z, first with CONTRACT_CREATED T-1: connection refused.",
        "Last attempt: connection refused.",
        "Disabled after 6 consecutive failures, at 2031-01-02T05:39:05.000Z (attempt:1.6). Scheduled attempts are skipped.",
        "2 deliveries are undelivered and will not be retried.",
        "",
        "Start the receiver.",
        "Enable the webhook: svc emulator webhooks enable 1",
        "Resend 2 undelivered deliveries, oldest first: svc emulator webhooks resend 1",
        "",
      ],
    );
    const result = await svc("webhooks why --json");
    const { disabled, because_of, skipped, skipped_deliveries, cut_short_deliveries } = JSON.parse(result.stdout);
    assert.deepEqual(disabled, { at: "2031-01-02T05:39:05.000Z", by: "attempt:1.6" });
    assert.deepEqual(
      because_of.map(({ what: label }: { what: string }) => label),
      ["contracts.create POST /api/v2.1/public/contracts/"],
    );
    const summarize = (all: { id: number; outcome: string; attempts: number }[]) =>
      all.map(({ id, outcome, attempts }) => [id, outcome, attempts]);
    assert.deepEqual(
      [skipped, summarize(skipped_deliveries), summarize(cut_short_deliveries)],
      [1, [[2, "skipped_disabled", 0]], [[1, "skipped_disabled", 6]]],
    );
  });

  it("names a contract that was executed elsewhere by its own ID", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await requireContract(
      emulator.api("POST", "/api/v2.1/public/contracts/executed_contracts/", { body: await createExecutedImport() }),
    );
    await emulator.clock.advance({ by: 1 });
    assert.match((await svc("webhooks why")).stdout, /attempt 1 of 7 {2}CONTRACT_CREATED H-1 {2}the first attempt\n/);
    assert.match(
      (await svc("emulator deliveries --format csv --fields composite_id")).stdout,
      /^composite_id\r\nH-1\r\n$/,
    );
  });

  it("reports exhausted retries and the deliveries to resend, oldest first", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 155 * 60_000 });
    await svc("emulator webhooks enable 1");
    await emulator.clock.advance({ by: 160 * 60_000 });
    const [row] = await json<object[]>("emulator deliveries --fields outcome,next_attempt_at");
    assert.deepEqual(row, { outcome: "failed", next_attempt_at: null });
    const { exit, stdout } = await svc("webhooks why");
    assert.equal(exit, 1);
    assert.match(stdout, /^Failed after the last retry: 1\. List them with --all$/m);
    assert.deepEqual(stdout.split("\n").slice(-5), [
      "",
      "No retries are left.",
      "Start the receiver.",
      "Resend the undelivered delivery: svc emulator webhooks resend 1",
      "",
    ]);
    const { given_up_deliveries } = JSON.parse((await svc("webhooks why --json")).stdout);
    assert.deepEqual(given_up_deliveries, [
      {
        id: 1,
        activity: "CONTRACT_CREATED",
        composite_id: "T-1",
        created_at: "2031-01-02T03:04:05.000Z",
        outcome: "failed",
        attempts: 7,
      },
    ]);
  });

  it("reports a disallowed address immediately, with the flag that allows it", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const url = "https://hooks.example.com/y";
    const reason =
      "Host hooks.example.com is not allowed for webhooks. Restart the emulator with --webhook-allow hooks.example.com.";
    const created = await svc(create("Away", url));
    assert.deepEqual(
      [created.exit, created.stderr],
      [0, `warning: the emulator will not send to this address: ${reason}\n`],
    );
    assert.equal((await svc(create("Here", deadUrl))).stderr, "");
    const before = await svc("webhooks why Away");
    assert.deepEqual(before, {
      exit: 1,
      stdout: [
        `Webhook 1  Away  ${url}  ACTIVE  workspace 1 (Northwind Legal)`,
        "",
        `Deliveries are blocked: ${reason}`,
        "",
        "Stop the emulator: svc emulator stop",
        "Start it again with its other flags and this host: svc emulator start --detach --webhook-allow hooks.example.com",
        "",
      ].join("\n"),
      stderr: "",
    });
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    assert.match(
      (await svc("emulator trace delivery:1")).stdout,
      /is subscribed to CONTRACT_CREATED, but its address is not allowed \(to allow it, restart the emulator with --webhook-allow hooks\.example\.com\)/,
    );
  });

  it("prints the start of the receiver's response with escaped control characters", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    const answered = `{"error":\n  "the \u001b[31mtable\u001b[0m is locked"}${" and so on".repeat(50)}`;
    app.respond((_, response) => void response.writeHead(500).end(answered));
    await svc(create("Mine", app.url));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const { stdout } = await svc("webhooks why");
    assert.match(stdout, /\nLast response: \{"error": "the \\x1b\[31mtable\\x1b\[0m is locked"\} and so on.{0,160}…\n/);
  });

  it("lists checks for a real service and exits with an error", async (t) => {
    const { svc } = await startCliEmulator(t);
    const env = { SVC_EMULATOR_URL: "", SVC_EMULATOR_TOKEN: "", SVC_ROUTER_URL: "", SVC_CONTRACTS_URL: "" };
    await svc("config set contracts_url https://api.example.com --profile staging", { env });
    const { exit, stdout, stderr } = await svc("webhooks why --profile staging", { env });
    assert.deepEqual(
      [exit, stderr],
      [1, `The service of profile staging shows its webhook deliveries in its application only.\n`],
    );
    assert.deepEqual(
      stdout.split("\n").filter((line) => line.startsWith("  ")),
      [
        "  svc webhooks listen --public-url https://YOUR-TUNNEL/ --forward-to localhost:3000 --save hooks --profile staging",
        "  svc webhooks verify hooks/0001-CONTRACT_SIGNED.json --profile staging",
        "  svc webhooks explain body.json --headers headers.txt --profile staging",
        "  svc webhooks replay hooks/0001-CONTRACT_SIGNED.json --to localhost:3000 --profile staging",
        "  svc webhooks re-trigger --contract-ids 1 --profile staging",
        "  svc emulator exec --from state.json -- npm test",
      ],
    );
    const json = await svc("webhooks why --profile staging --json", { env });
    assert.deepEqual([json.exit, JSON.parse(json.stdout).length], [1, 6]);
    const deliveries = await svc("webhooks deliveries --profile staging", { env });
    assert.match(
      deliveries.stderr,
      /^error: This command requires an emulator. The selected service is that of profile staging\./,
    );
  });

  it("fits the conclusion on one screen with any number of failures", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond((_, response) => void response.writeHead(500).end("the table is locked ".repeat(30)));
    for (const title of ["A webhook with quite a long title", "Other"])
      await svc([
        "webhooks",
        "create",
        "--title",
        title,
        "--url",
        `${app.url}/${"path/".repeat(9)}`,
        "--only-for-activities",
        "CONTRACT_CREATED",
      ]);
    for (let i = 0; i < 9; i += 1) await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 400 * 60_000 });
    for (const line of ["webhooks why 1", "webhooks why"]) {
      const { stdout } = await svc(line, { tty: true, columns: 80, env: { NO_COLOR: "1" } });
      const lines = stdout.trimEnd().split("\n");
      assert.ok(lines.length <= 25 && lines.every((value) => value.length <= 80), stdout);
      assert.match(stdout, /Enable the webhook: svc emulator webhooks enable 1\n.*resend 1\n$/);
    }
    const narrow = await svc("webhooks why 1", { tty: true, columns: 80, env: { NO_COLOR: "1" } });
    assert.match(narrow.stdout, /^The last \d of 6 attempts; see all with --all:$/m);
    assert.equal((await svc("webhooks why 1 --all")).stdout.match(/ attempt \d of 7 /g)?.length, 6);
  });

  it("identifies the common cause of the failures", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond(({ body }, response) => void response.writeHead(body.includes("CONTRACT_CREATED") ? 500 : 200).end());
    await svc([
      "webhooks",
      "create",
      "--title",
      "Mine",
      "--url",
      app.url,
      "--only-for-activities",
      "CONTRACT_CREATED,COUNTER_PARTY_CREATED",
    ]);
    for (let i = 0; i < 2; i += 1) {
      await createDraftContract(emulator.api);
      await svc("webhooks trigger COUNTER_PARTY_CREATED");
      await emulator.clock.advance({ by: 1 });
    }
    const { exit, stdout } = await svc("webhooks why");
    assert.equal(exit, 1);
    assert.match(stdout, /^Only CONTRACT_CREATED fails\. Other deliveries arrive\.$/m);
    const diagnosis = JSON.parse((await svc("webhooks why --json")).stdout);
    assert.deepEqual(
      [diagnosis.in_common, diagnosis.first_failure],
      [
        "Only CONTRACT_CREATED fails. Other deliveries arrive.",
        {
          at: diagnosis.since,
          delivery: diagnosis.first_failure.delivery,
          activity: "CONTRACT_CREATED",
          composite_id: "T-1",
          turn: "attempt 1 of 7",
          error: "The receiver responded 500.",
        },
      ],
    );
  });
});
