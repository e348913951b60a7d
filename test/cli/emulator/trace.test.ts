import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";
import { createDraftContract } from "../../support/contracts.ts";

const start = "2031-01-02T03:04:05Z";
const manual = { deterministic: true, clock: { mode: "manual", start } } as const;
const create = "webhooks create --title dead --url http://127.0.0.1:9/hook --only-for-activities CONTRACT_CREATED";

interface Node {
  readonly id: string;
  readonly kind: string;
  readonly parent: string | null;
  readonly trace: string;
  readonly span: string;
  readonly parent_span: string | null;
  readonly at: string;
  readonly because: string;
}

/** A contract with deliveries to a dead receiver, after an advance by `minutes`. */
async function startWithDeadReceiver(t: TestContext, minutes: number): Promise<CliEmulator> {
  const emulator = await startCliEmulator(t, manual);
  await emulator.svc(create);
  await createDraftContract(emulator.emulator.api);
  await emulator.svc(`emulator clock advance --by PT${minutes}M`);
  return emulator;
}

describe("svc emulator trace", () => {
  it("explains six attempts to reach a dead receiver within 155 minutes", async (t) => {
    const { svc, json } = await startWithDeadReceiver(t, 155);
    const { nodes } = await json<{ nodes: readonly Node[] }>("emulator trace T-1");
    const deliveries = nodes.filter(({ kind }) => kind === "delivery");
    assert.deepEqual(
      deliveries.map(({ id, parent }) => [id, parent]),
      [["delivery:1", "event:3"]],
    );
    const parentOf = (id: string | null) => nodes.find((node) => node.id === id)?.parent;
    assert.equal(parentOf("event:3"), "request:2");
    assert.equal(parentOf("request:2"), null);
    const cause = "connection_refused";
    assert.deepEqual(
      nodes
        .filter(({ kind }) => kind === "attempt")
        .map(({ parent, at, because }) => [parent, (Date.parse(at) - Date.parse(start)) / 60_000, because]),
      [
        ["delivery:1", 0, "the first attempt"],
        ["delivery:1", 5, `retry 1, 5 min after ${cause}; request:3 advanced the clock`],
        ["delivery:1", 15, `retry 2, 10 min after ${cause}; request:3 advanced the clock`],
        ["delivery:1", 35, `retry 3, 20 min after ${cause}; request:3 advanced the clock`],
        ["delivery:1", 75, `retry 4, 40 min after ${cause}; request:3 advanced the clock`],
        ["delivery:1", 155, `retry 5, 80 min after ${cause}; request:3 advanced the clock`],
      ],
    );
    const { exit, stdout } = await svc("emulator trace delivery:1");
    assert.equal(exit, 0);
    assert.deepEqual(stdout.split("\n").slice(-5), [
      `2031-01-02T04:19:05.000Z        ├─ attempt:1.5  attempt 5: ${cause}  retry 4, 40 min after ${cause}; request:3 advanced the clock`,
      `2031-01-02T05:39:05.000Z        ├─ attempt:1.6  attempt 6: ${cause}  retry 5, 80 min after ${cause}; request:3 advanced the clock`,
      `2031-01-02T08:19:05.000Z        └─ planned: attempt 7  retry 6, 160 min after ${cause}; will be skipped unless webhook 1 is enabled first (DISABLED_BY_ERROR)`,
      "2031-01-02T03:04:05.000Z  request:3  clock.advance POST /_emulator/clock/advance  requested by a client",
      "",
    ]);
  });

  it("shows that the retry of a delivery will be skipped until its webhook is enabled, as other commands do", async (t) => {
    const { svc, json } = await startWithDeadReceiver(t, 75);
    const readStatuses = async () => {
      const { nodes } = await json<{ nodes: { status_text: string | null }[] }>("emulator trace delivery:1");
      const [, line = ""] =
        (await svc("emulator trace delivery:1")).stdout.match(/delivery:1 .*9\/\S+ {2}(.*?) {2}/) ?? [];
      const {
        items: [listed],
      } = await json<{ items: { status_text: string }[] }>("webhooks deliveries");
      return [nodes.flatMap(({ status_text }) => status_text ?? []), line, listed!.status_text];
    };
    assert.deepEqual(await readStatuses(), [["retrying"], "retrying", "retrying"]);
    const { ran } = await json<{ ran: { outcome: string; status_text: string }[] }>(
      "emulator clock advance --by PT80M",
    );
    assert.deepEqual(
      ran.map(({ outcome, status_text }) => [outcome, status_text]),
      [["retrying", "will be skipped"]],
    );
    assert.deepEqual(await readStatuses(), [["will be skipped"], "will be skipped", "will be skipped"]);
    await json("emulator webhooks enable 1");
    assert.deepEqual(await readStatuses(), [["retrying"], "retrying", "retrying"]);
    assert.match((await svc("emulator clock advance --by PT160M")).stdout, /Z\tdeliver\t1\tfailed\n/);
  });

  it("names the attempt that disabled the webhook of a skipped delivery", async (t) => {
    const { svc } = await startWithDeadReceiver(t, 400);
    const { stdout } = await svc("emulator trace delivery:1");
    assert.match(
      stdout,
      /delivery:1 .* skipped_disabled \(webhook disabled by attempt:1\.6\) {2}webhook 1 is subscribed/,
    );
  });

  it("prints one line per node for programs", async (t) => {
    const { svc } = await startWithDeadReceiver(t, 5);
    const { stdout } = await svc("emulator trace T-1 --format ndjson");
    const lines = stdout.trim().split("\n");
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as Node).id),
      ["request:2", "event:3", "delivery:1", "attempt:1.1", "attempt:1.2", "request:3"],
    );
  });

  it("prints the time, the event and its cause as CSV", async (t) => {
    const { svc } = await startWithDeadReceiver(t, 5);
    const { stdout } = await svc("emulator trace delivery:1 --format csv");
    assert.deepEqual(stdout.split("\r\n").slice(0, 2), [
      "id,parent,at,what,because",
      `request:2,,${new Date(start).toISOString()},contracts.create POST /api/v2.1/public/contracts/,requested by a client`,
    ]);
  });

  it("prints only the named fields, and rejects an unknown field", async (t) => {
    const { svc } = await startWithDeadReceiver(t, 5);
    const { exit, stdout } = await svc("emulator trace delivery:1 --fields id,kind");
    assert.deepEqual([exit, stdout.split("\n").includes("delivery:1\tdelivery")], [0, true], stdout);
    assert.equal((await svc("emulator trace delivery:1 --fields nope")).exit, 2);
  });

  it("prints OpenTelemetry spans with their parents", async (t) => {
    const { svc, json } = await startWithDeadReceiver(t, 5);
    const { nodes } = await json<{ nodes: readonly Node[] }>("emulator trace T-1");
    const { stdout } = await svc("emulator trace T-1 --format otlp");
    const document = JSON.parse(stdout) as Otlp;
    const [{ resource, scopeSpans } = assert.fail()] = document.resourceSpans;
    assert.deepEqual(resource, { attributes: [{ key: "service.name", value: { stringValue: "svc-emulator" } }] });
    const spans = scopeSpans.flatMap((scope) => scope.spans);
    assert.deepEqual(
      spans.map(({ traceId, spanId, parentSpanId }) => [traceId, spanId, parentSpanId ?? null]),
      nodes.map(({ trace, span, parent_span }) => [trace, span, parent_span]),
    );
    const [request] = spans;
    assert.deepEqual(request, {
      traceId: nodes[0]?.trace,
      spanId: nodes[0]?.span,
      name: "contracts.create POST /api/v2.1/public/contracts/",
      kind: 2,
      startTimeUnixNano: `${Date.parse(start)}000000`,
      endTimeUnixNano: `${Date.parse(start)}000000`,
      attributes: [
        { key: "svc.id", value: { stringValue: "request:2" } },
        { key: "svc.kind", value: { stringValue: "request" } },
        { key: "svc.virtual_time", value: { stringValue: "2031-01-02T03:04:05.000Z" } },
        { key: "svc.because", value: { stringValue: "requested by a client" } },
      ],
    });
    const refusedStatus = { code: 2, message: "connection_refused" };
    assert.deepEqual(spans.map(({ status }) => status).filter(Boolean), [refusedStatus, refusedStatus]);
  });

  it("draws a Mermaid flowchart in which all special characters are escaped", async (t) => {
    const { svc, emulator } = await startCliEmulator(t, manual);
    const url = 'http://127.0.0.1:9/a"];click%20n0;end<b>&y?x=1';
    await emulator.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "odd", url, only_for_activities: ["CONTRACT_CREATED"] },
    });
    await createDraftContract(emulator.api);
    const { stdout } = await svc("emulator trace delivery:1 --format mermaid");
    assert.deepEqual(stdout.split("\n"), [
      "flowchart TD",
      '  n0["request:2 contracts.create POST /api/v2.1/public/contracts/<br/>2031-01-02T03:04:05.000Z requested by a client"]',
      '  n1["event:3 CONTRACT_CREATED T-1<br/>2031-01-02T03:04:05.000Z caused by request:2"]',
      "  n0 --> n1",
      '  n2["delivery:1 CONTRACT_CREATED to webhook 1 http://127.0.0.1:9/a#34;#93;#59;click#37;20n0#59;end#60;b#62;#38;y#63;x#61;#91;redacted#93;<br/>2031-01-02T03:04:05.000Z webhook 1 is subscribed to CONTRACT_CREATED"]',
      "  n1 --> n2",
      '  n3["attempt:1.1 attempt 1: connection_refused<br/>2031-01-02T03:04:05.000Z the first attempt"]',
      "  n2 --> n3",
      '  n4(["planned: attempt 2<br/>2031-01-02T03:09:05.000Z retry 1, 5 min after connection_refused"])',
      "  n2 --> n4",
      "",
    ]);
    const narrow = { tty: true, columns: 40, env: { NO_COLOR: "1" } };
    assert.equal((await svc("emulator trace delivery:1 --format mermaid", narrow)).stdout, stdout);
  });

  it("follows new nodes until stopped", async (t) => {
    const { emulator, cwd } = await startWithDeadReceiver(t, 5);
    const env = { SVC_EMULATOR_URL: emulator.controlUrl, SVC_EMULATOR_TOKEN: emulator.token };
    const run = await startSvcProcess(t, ["emulator", "trace", "T-1", "--follow"], { cwd, env });
    await run.saw("attempt:1.2 ");
    await emulator.clock.advance({ by: 600_000 });
    await run.saw("attempt:1.3 ");
    await emulator.control("POST", "deliveries/1/resend");
    await run.saw("attempt:1.4 ");
    assert.equal((await run.stop("SIGINT")).exit, 130);
    const lines = run.stdout().trim().split("\n");
    const cause = "connection_refused";
    assert.deepEqual(
      lines
        .filter((line) => line.includes("attempt:"))
        .map((line) => line.replace(/(?:advance|request):\d+/, "somebody")),
      [
        `2031-01-02T03:04:05.000Z delivery:1 > attempt:1.1 attempt 1: ${cause}  the first attempt`,
        `2031-01-02T03:09:05.000Z delivery:1 > attempt:1.2 attempt 2: ${cause}  retry 1, 5 min after ${cause}; somebody advanced the clock`,
        `2031-01-02T03:19:05.000Z delivery:1 > attempt:1.3 attempt 3: ${cause}  retry 2, 10 min after ${cause}; somebody advanced the clock`,
        `2031-01-02T03:19:05.000Z somebody > attempt:1.4 resend 1 of delivery:1: ${cause}  resent by ${findResendCause(lines)}`,
      ],
    );
  });

  it("lists valid references and reports unavailable references", async (t) => {
    const { svc } = await startCliEmulator(t, manual);
    assert.deepEqual(await svc("emulator trace request:7"), {
      exit: 5,
      stdout: "",
      stderr: [
        "error: request:7 has no trace (HTTP 404)",
        "  It does not exist, changed nothing or only tokens, or is no longer retained. A token of a workspace traces only " +
          "the contracts, webhooks, events and deliveries of that workspace. `svc emulator requests` lists the requests.",
        "",
      ].join("\n"),
    });
    const { exit, stderr } = await svc("emulator trace something");
    assert.deepEqual(
      [exit, stderr.split("\n")[0]],
      [5, 'error: "something" is not a valid trace reference (HTTP 404)'],
    );
    const drawing = await svc("emulator trace T-1 --follow --format mermaid");
    assert.deepEqual([drawing.exit, (await svc("emulator trace")).exit], [2, 2]);
    assert.equal((await svc("emulator requests --format mermaid")).exit, 2);
  });
});

/** The request that caused the resend. */
const findResendCause = (lines: readonly string[]): string =>
  /resent by (request:\d+)/.exec(lines.join("\n"))?.[1] ?? "nobody";

interface Otlp {
  readonly resourceSpans: readonly {
    readonly resource: unknown;
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly status?: unknown;
      }[];
    }[];
  }[];
}
