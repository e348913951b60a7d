import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CauseRow } from "../../../emulator/store/port.ts";
import { createSentContract } from "../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { createTemporaryFolder } from "../../support/store.ts";

const start = "2031-01-02T03:04:05Z";
const manual = { deterministic: true, clock: { mode: "manual", start } } as const;
const deadWebhook = { title: "dead", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_SIGNED"] };

interface Rows {
  readonly causes: readonly CauseRow[];
  readonly webhook_events: readonly { readonly activity: string; readonly cause: string }[];
  readonly webhook_attempts: readonly {
    readonly cause: string;
    readonly moved_by: string | null;
    readonly at: number;
  }[];
  readonly schedule: readonly { readonly kind: string; readonly cause: string }[];
}

async function getRows({ control }: Pick<TestEmulator, "control">): Promise<Rows> {
  const { body } = await control("GET", "state");
  return (body as { rows: Rows }).rows;
}

/** Summarizes the stored causes: the operation, the previous cause and the clock advance. */
const summarizeCauses = ({ causes }: Pick<Rows, "causes">) =>
  causes.map(({ id, what: label, before, moved_by }) => [id, label, before, moved_by].filter(Boolean).join(" | "));

const formatEvents = ({ webhook_events }: Rows) => webhook_events.map(({ activity, cause }) => `${cause} ${activity}`);

const opening = [
  "request:1 | webhooks.create POST /api/v2.1/public/webhooks/",
  "request:2 | contracts.create POST /api/v2.1/public/contracts/",
  "request:3 | contracts.send POST /api/v2.1/public/contracts/T-1/send_to_counterparties",
];

/** Sends a contract for signature, with a webhook whose receiver does not exist. */
async function startWithSentContract(t: TestContext, options = {}): Promise<TestEmulator> {
  const emulator = await startTestEmulator(t, { ...manual, ...options });
  await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: deadWebhook });
  await createSentContract(emulator.api);
  return emulator;
}

describe("an effect of a request", () => {
  it("records the request as its cause", async (t) => {
    const emulator = await startWithSentContract(t);
    const waiting = (await getRows(emulator)).schedule.filter(({ kind }) => kind === "email-delivery");
    assert.deepEqual(
      waiting.map(({ cause }) => cause),
      ["request:3"],
    );
    await emulator.control("POST", "contracts/T-1/sign", { body: {} });
    await emulator.control("GET", "webhooks");
    const rows = await getRows(emulator);
    assert.deepEqual(summarizeCauses(rows).slice(0, 3), opening);
    const signing = rows.causes.find(
      ({ what: label }) => label === "emulator-contracts.sign POST /_emulator/contracts/T-1/sign",
    );
    assert.ok(signing);
    const events = formatEvents(rows);
    assert.ok(events.includes("request:2 CONTRACT_CREATED"), events.join());
    assert.ok(events.includes(`${signing.id} CONTRACT_SIGNED`), events.join());
  });

  it("records the clock advance that made it due", async (t) => {
    const emulator = await startWithSentContract(t, { autoSignMs: 600_000 });
    await emulator.clock.advance({ by: "PT15M" });
    const rows = await getRows(emulator);
    const moved = rows.causes.find(({ id }) => id.startsWith("advance:"))?.id;
    assert.deepEqual(
      summarizeCauses(rows).filter((line) => line.startsWith("timer:")),
      [
        `timer:2 | the provider of e-mails reports a delivery | request:3 | ${moved}`,
        `timer:3 | auto-sign | request:3 | ${moved}`,
      ],
    );
    assert.ok(formatEvents(rows).includes("timer:3 CONTRACT_SIGNED"));
    assert.deepEqual(
      rows.webhook_attempts.map(({ cause, moved_by, at }) => [cause, moved_by, (at - Date.parse(start)) / 60_000]),
      [
        ["timer:3", moved, 10],
        ["timer:3", moved, 15],
      ],
    );
  });

  it("belongs to the client's trace unless the trace header is malformed", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const span = "00f067aa0ba902b7";
    const headers = [
      `00-${trace}-${span}-01`,
      `00-${trace}-${span}`,
      `00-${trace.toUpperCase()}-${span}-01`,
      "",
      undefined,
    ];
    for (const traceparent of headers) {
      const headers = traceparent === undefined ? undefined : { traceparent };
      await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: deadWebhook, ...(headers && { headers }) });
    }
    const { causes } = await getRows(emulator);
    assert.deepEqual(
      causes.map((row) => [row.trace === trace, row.parent_span]),
      [
        [true, span],
        [false, null],
        [false, null],
        [false, null],
        [false, null],
      ],
    );
    assert.equal(new Set(causes.map((row) => row.trace)).size, 5);
    for (const row of causes) assert.match(row.trace, /^[0-9a-f]{32}$/);
  });

  it("records its own request target, whatever the previous request was", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    const path = "/api/v2.1/public/webhooks/";
    for (const query of ["", "", "?x=s3cr3t", "?y=1", ""])
      await emulator.api("POST", `${path}${query}`, { body: deadWebhook });
    const operations = ["", "", "?x=[redacted]", "?y=[redacted]", ""].map(
      (query) => `webhooks.create POST ${path}${query}`,
    );
    assert.deepEqual(
      (await getRows(emulator)).causes.map(({ what: label }) => label),
      operations,
    );
  });

  it("never refers to a reused request number after a restart or import", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const first = await startWithSentContract(t, { file });
    const before = await first.control("GET", "state");
    await first.close();
    const second = await startTestEmulator(t, { ...manual, file });
    await second.api("POST", "/api/v2.1/public/webhooks/", { body: deadWebhook });
    const after = summarizeCauses(await getRows(second));
    assert.deepEqual(after.slice(0, 3), opening);
    const freshEmulator = await startTestEmulator(t, manual);
    await freshEmulator.control("PUT", "state", { body: before.body });
    await freshEmulator.api("POST", "/api/v2.1/public/webhooks/", { body: deadWebhook });
    assert.deepEqual(summarizeCauses(await getRows(freshEmulator)).slice(0, 3), opening);
  });
});
