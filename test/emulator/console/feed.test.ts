import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { VirtualClock } from "../../../emulator/clock/virtual-clock.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { EventFeed } from "../../../emulator/control/events/feed.ts";
import { sendEmail } from "../../../emulator/domain/emails.ts";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import { Faults } from "../../../emulator/faults/faults.ts";
import { addHeartbeats } from "../../../emulator/http/event-stream.ts";
import { RequestLog } from "../../../emulator/http/request-log/request-log.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";

/** A feed with its own store, and a wall clock that the test advances. */
async function createFeed(t: TestContext) {
  const wall = new ManualWallClock();
  const store = openMemoryStore({ collections, wall });
  const clock = await VirtualClock.open(store, wall, { mode: "manual", now: 0 });
  const feed = new EventFeed(
    {
      store,
      clock,
      wall,
      requestLog: new RequestLog(defaultSettings.requestLogBytes),
      faults: new Faults(),
      snapshots: { watch: () => () => {}, list: async () => [] } as never,
      runner: {} as never,
      settings: defaultSettings,
      clusters: [],
    },
    "5f3a9c1b-0000",
  );
  t.after(() => feed.close());
  const send = (count = 1) =>
    store.transaction("mail", (tx) => {
      for (let i = 0; i < count; i += 1) sendEmail(tx, { purpose: "trial", recipient: "jo@acme.example", sent_at: 0 });
    });
  return { wall, feed, send };
}

/** The event kinds in the next frames, with a heartbeat as `beat`. */
async function readNextEvents(stream: AsyncGenerator<{ readonly text: string }>): Promise<string[]> {
  const { value } = await stream.next();
  const frames = String(value.text).split("\n\n").slice(0, -1);
  return frames.map((frame) => (frame === ":" ? "beat" : JSON.parse(frame.split("data: ")[1]!).event));
}

describe("console event feed", () => {
  it("records no events before the first follower connects", async (t) => {
    const { feed, send } = await createFeed(t);
    await send();
    assert.deepEqual(feed.amount, { streams: 0, count: 0, bytes: 0, max_bytes: 2 * 1024 * 1024, dropped: 0 });
  });

  it("sends heartbeats while idle to prevent proxies from closing the stream", async (t) => {
    const { feed, wall, send } = await createFeed(t);
    const stream = addHeartbeats(feed.follow(undefined, new AbortController().signal), wall);
    assert.deepEqual(await readNextEvents(stream), ["begin"]);
    for (let i = 0; i < 3; i += 1) {
      const beat = readNextEvents(stream);
      await waitForIdle();
      await wall.pass(15_000);
      assert.deepEqual(await beat, ["beat"]);
    }
    const nextEvents = readNextEvents(stream);
    await send();
    assert.deepEqual(await nextEvents, ["email"]);
  });

  it("records for a minute and a half after the last follower has left", async (t) => {
    const { feed, wall, send } = await createFeed(t);
    const leave = async (after?: string) => {
      const stream = feed.follow(after, new AbortController().signal);
      const first = await readNextEvents(stream);
      // A resumed stream begins with a heartbeat, which proves to the client that the stream arrives.
      if (first[0] === "beat") first.push(...(await readNextEvents(stream)));
      await stream.return(undefined);
      await waitForIdle();
      return first;
    };
    assert.deepEqual(await leave(), ["begin"]);
    await wall.pass(89_000);
    await send();
    await waitForIdle();
    assert.deepEqual(await leave("5f3a9c1b-0"), ["beat", "email"], "and who comes back has as long again");
    await wall.pass(89_000);
    assert.deepEqual(await leave("5f3a9c1b-0"), ["beat", "email"]);
    await wall.pass(90_000);
    assert.deepEqual(await leave("5f3a9c1b-1"), ["resync"]);
    assert.equal(feed.amount.bytes, 0);
  });

  it("sends resync to followers after more than 4,000 simultaneous changes", async (t) => {
    const { feed, wall, send } = await createFeed(t);
    const stream = feed.follow(undefined, new AbortController().signal);
    assert.deepEqual(await readNextEvents(stream), ["begin"]);
    await send(4_001);
    assert.deepEqual(await readNextEvents(stream), ["resync"]);
    const nextEvents = readNextEvents(stream);
    await send();
    await waitForIdle();
    await wall.pass(50);
    assert.deepEqual(await nextEvents, ["email"]);
  });
});
