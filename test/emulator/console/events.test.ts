import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { openEventStream, type StreamedEvent } from "../../support/event-stream.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";

const at = "2031-01-02T03:04:05.000Z";

/** Kind and object of each event, without clock events, whose times depend on the schedule. */
const summarizeEvents = (events: readonly StreamedEvent[]) =>
  events.filter(({ event }) => event !== "clock").map(({ event, ref }) => (ref === null ? event : `${event} ${ref}`));

const isRequest =
  (operation: string) =>
  (event: StreamedEvent): boolean =>
    event.event === "request" && event.request.operation === operation;

async function subscribe({ api }: TestEmulator, url: string): Promise<void> {
  const body = { title: "Hooks", url, only_for_activities: ["CONTRACT_CREATED"] };
  assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body })).status, 201);
}

/** Follows the stream and skips the first event. */
async function openStartedStream(t: Parameters<typeof openEventStream>[0], emulator: TestEmulator) {
  const stream = await openEventStream(t, emulator);
  assert.equal((await stream.next()).event, "begin");
  return stream;
}

describe("console event stream", () => {
  it("starts at the current event and identifies the emulator's run", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const stream = await openEventStream(t, emulator);
    const run = emulator.instanceId.slice(0, 8);
    assert.deepEqual(await stream.next(), { id: `${run}-0`, at, event: "begin", ref: null });
    await emulator.api("GET", "/api/v2.1/public/contracts/T-9/status");
    const { id, ref } = await stream.next();
    assert.deepEqual([id, ref], [`${run}-1`, "request:3"]);
  });

  it("emits a contract, its e-mails and the request", async (t) => {
    const emulator = await startTestEmulator(t);
    const stream = await openStartedStream(t, emulator);
    await createSentContract(emulator.api);
    const events = await stream.waitFor(isRequest("contracts.send"));
    assert.deepEqual(
      summarizeEvents(events).filter((line) => !line.startsWith("request")),
      ["contract T-1", "contract T-1", "email email:1"],
    );
    assert.deepEqual(
      events.flatMap((event) => (event.event === "contract" ? event.contract : [])),
      [
        { ...contractOne, contract_status: "DRAFT", status_before: null },
        { ...contractOne, contract_status: "SIGN", status_before: "DRAFT" },
      ],
    );
  });

  it("emits a new delivery, and each attempt with its outcome", async (t) => {
    const emulator = await startTestEmulator(t);
    const sink = await startReceiver(t);
    sink.respond(503);
    await subscribe(emulator, sink.url);
    const stream = await openStartedStream(t, emulator);
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    sink.respond(200);
    await emulator.control("POST", "clock/advance", { body: { by: "PT10M" } });
    const events = await stream.waitFor(
      (event) => event.event === "delivery" && event.delivery.outcome === "delivered",
    );
    const deliveries = events.flatMap((event) => (event.event === "delivery" ? [event] : []));
    assert.deepEqual(
      deliveries.map(({ at, ref, delivery: { outcome, attempt } }) => [
        at.slice(11, 19),
        ref,
        outcome,
        attempt && [attempt.number, attempt.status],
      ]),
      [
        ["03:04:05", "delivery:1", "waiting", null],
        ["03:04:05", "delivery:1", "retrying", [1, 503]],
        ["03:09:05", "delivery:1", "retrying", [2, 503]],
        ["03:19:05", "delivery:1", "delivered", [3, 200]],
      ],
    );
    const [listedDelivery] = (
      (await emulator.control("GET", "deliveries")).body as { items: Record<string, unknown>[] }
    ).items;
    const { attempt: _, ...last } = deliveries.at(-1)!.delivery;
    const { attempts: __, ...shown } = listedDelivery!;
    assert.deepEqual(last, shown, "as the list has it");
  });

  it("emits the clock with the next due entry, faults, snapshots and device decisions", async (t) => {
    const emulator = await startTestEmulator(t);
    const stream = await openStartedStream(t, emulator);
    const kind = (expected: StreamedEvent["event"]) => async () =>
      (await stream.waitFor(({ event }) => event === expected)).at(-1)!;
    const [clock, faults, snapshots, devices] = (["clock", "faults", "snapshots", "device"] as const).map(kind);

    await emulator.control("PUT", "clock", { body: { mode: "real", speed: 60 } });
    await emulator.control("PUT", "clock", { body: { mode: "manual" } });
    let nextEvent = await clock!();
    while (nextEvent.event === "clock" && nextEvent.clock.mode !== "manual") nextEvent = await clock!();
    assert.deepEqual(nextEvent.event === "clock" && nextEvent.clock, (await emulator.control("GET", "clock")).body);

    const body = { direction: "incoming", operation: "contracts.create", status: 503 };
    await emulator.control("POST", "faults", { body });
    const added = await faults!();
    assert.deepEqual(added.event === "faults" && added.faults, (await emulator.control("GET", "faults")).body);
    await emulator.api("POST", "/api/v2.1/public/contracts/", { body: {} });
    const faultEvent = await faults!();
    assert.deepEqual(faultEvent.event === "faults" && faultEvent.faults.map(({ matched, hit }) => [matched, hit]), [
      [1, 1],
    ]);

    await emulator.control("PUT", "snapshots/kept");
    const saved = await snapshots!();
    assert.deepEqual(saved.event === "snapshots" && saved.snapshots, (await emulator.control("GET", "snapshots")).body);

    const { user_code } = await startDeviceAuthorization(emulator);
    const waits = await devices!();
    assert.deepEqual([waits.ref, waits.event === "device" && waits.device.status], [`device:${user_code}`, "PENDING"]);
    await emulator.control("POST", `device-grants/${user_code}`, { body: { status: "AUTHORIZED" } });
    const approved = await devices!();
    assert.equal(approved.event === "device" && approved.device.status, "AUTHORIZED");
  });

  it("emits an event when the state is replaced by a restore, import or reset", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.control("PUT", "snapshots/kept");
    const state = (await emulator.control("GET", "state")).body;
    const stream = await openStartedStream(t, emulator);
    const isState = ({ event }: StreamedEvent) => event === "state";
    for (const change of [
      () => emulator.control("POST", "snapshots/kept/restore"),
      () => emulator.control("PUT", "state", { body: state }),
      () => emulator.control("POST", "reset"),
    ]) {
      assert.ok((await change()).status < 300);
      await stream.waitFor(isState);
    }
  });

  it("does not emit reads of the control plane", async (t) => {
    const emulator = await startTestEmulator(t);
    const stream = await openStartedStream(t, emulator);
    for (const path of ["clock", "requests", "deliveries", "faults"]) await emulator.control("GET", path);
    await emulator.control("DELETE", "requests");
    const { event, ref } = await stream.next();
    assert.deepEqual([event, ref], ["request", "request:6"]);
  });

  it("continues after the last event ID in the URL or header, without repetition", async (t) => {
    const emulator = await startTestEmulator(t);
    const first = await openStartedStream(t, emulator);
    await createDraftContract(emulator.api);
    const before = await first.waitFor(isRequest("contracts.create"));
    await first.close();
    await createDraftContract(emulator.api);

    const { id } = before.at(-1)!;
    const after = await openEventStream(t, emulator, { after: id });
    const missedEvents = await after.waitFor(isRequest("contracts.create"));
    assert.deepEqual(summarizeEvents(missedEvents), ["contract T-2", "request request:3"]);

    // A browser reconnects to the same URL and sends the last event ID in the header.
    const secondStream = await openEventStream(t, emulator, { after: before[0]!.id, lastEventId: id });
    assert.deepEqual(await secondStream.waitFor(isRequest("contracts.create")), missedEvents);
  });

  it("sends resync after a dropped, unknown or foreign event ID", async (t) => {
    const emulator = await startTestEmulator(t);
    const stream = await openStartedStream(t, emulator);
    await createDraftContract(emulator.api);
    const { id } = (await stream.waitFor(isRequest("contracts.create"))).at(-1)!;
    const otherEmulator = await startTestEmulator(t);
    const run = otherEmulator.instanceId.slice(0, 8);
    for (const after of [id, `${run}-1`, "made-up", ""]) {
      const resumedStream = await openEventStream(t, otherEmulator, { after });
      assert.deepEqual(await resumedStream.next(), { id: `${run}-0`, at, event: "resync", ref: null }, after);
    }
  });

  it("sends resync to a client that reconnects too late or reads too slowly", async (t) => {
    const emulator = await startTestEmulator(t);
    const [closing, slow] = [await openStartedStream(t, emulator), await openStartedStream(t, emulator)];
    await createDraftContract(emulator.api);
    const { id } = (await closing.waitFor(isRequest("contracts.create"))).at(-1)!;
    await closing.close();
    // Each event about faults contains all faults, so one large fault makes every event large.
    const rule = { direction: "incoming", method: "DELETE", status: 503 };
    const largeRule = { ...rule, response_body: "x".repeat(1_000_000) };
    const current = await openStartedStream(t, emulator);
    const addFault = async (body: unknown) => {
      assert.equal((await emulator.control("POST", "faults", { body })).status, 201);
      // Changes that follow each other too quickly would be one event.
      await current.waitFor(({ event }) => event === "faults");
    };
    await addFault(largeRule);
    const rounds = Math.ceil((await readSystemBufferBytes()) / largeRule.response_body.length) + 4;
    for (let i = 0; i < rounds; i += 1) await addFault(rule);
    const back = await openEventStream(t, emulator, { after: id });
    assert.equal((await back.next()).event, "resync");
    await slow.waitFor(({ event }) => event === "resync");
    await createDraftContract(emulator.api);
    await slow.waitFor(({ ref }) => ref === "T-2");
  });

  it("continues after a resync without a gap", async (t) => {
    const emulator = await startTestEmulator(t);
    const stream = await openEventStream(t, emulator, { after: "0123abcd-7" });
    const { id, event } = await stream.next();
    assert.equal(event, "resync");
    await stream.close();
    await createDraftContract(emulator.api);
    const resumedStream = await openEventStream(t, emulator, { after: id });
    const events = await resumedStream.waitFor(isRequest("contracts.create"));
    assert.deepEqual(summarizeEvents(events), ["contract T-1", "request request:2"]);
  });

  it("serves seven clients with the same events and counts them as buffer usage", async (t) => {
    const emulator = await startTestEmulator(t);
    const streams = await Promise.all(Array.from({ length: 7 }, () => openStartedStream(t, emulator)));
    const countStreams = async () =>
      ((await emulator.control("GET", "usage")).body as { events: { streams: number } }).events.streams;
    assert.equal(await countStreams(), 7);
    await createDraftContract(emulator.api);
    const all = await Promise.all(streams.map((stream) => stream.waitFor(isRequest("contracts.create"))));
    for (const eventList of all) assert.deepEqual(eventList, all[0]);
    for (const stream of streams) await stream.close();
    while ((await countStreams()) > 0);
  });

  it("ends when the emulator closes", async (t) => {
    // The stream ends at once, while other requests may continue.
    const emulator = await startTestEmulator(t, { graceMs: 5_000 });
    const stream = await openStartedStream(t, emulator);
    const ends = assert.rejects(
      stream.waitFor(() => false),
      new Error("The stream has ended"),
    );
    await emulator.close();
    await ends;
  });

  it("names no user code to a token of the role read", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body } = await emulator.control("POST", "tokens/viewer", { body: { role: "read" } });
    const { controlUrl } = emulator;
    const stream = await openEventStream(t, { controlUrl, token: (body as { token: string }).token });
    assert.equal((await stream.next()).event, "begin");
    await startDeviceAuthorization(emulator);
    const event = (await stream.waitFor(({ event }) => event === "device")).at(-1)!;
    const hidden = "[hidden: requires the role operate]";
    assert.deepEqual([event.ref, event.event === "device" && event.device.user_code], [`device:${hidden}`, hidden]);
  });

  it("requires permission to read", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await emulator.router("GET", "/_emulator/events");
    assert.equal(pickStatusAndBody(response).status, 401);
  });
});

const contractOne = {
  contract_id: 1,
  contract_name: "NDA with Acme",
  cluster_id: "eu-1",
  workspace_id: 1,
  deleted: false,
};

/** The buffer size of a connection. A client is not too slow until the buffer is full. */
async function readSystemBufferBytes(): Promise<number> {
  const sizes = async (name: string) => {
    const text = await readFile(`/proc/sys/net/ipv4/${name}`, "utf8").catch(() => "4096 200000 4000000");
    return text.trim().split(/\s+/).map(Number);
  };
  // The receive buffer of a client that does not read stays at its default size.
  const [[, received], [, , sent]] = await Promise.all([sizes("tcp_rmem"), sizes("tcp_wmem")]);
  return received! + sent!;
}
