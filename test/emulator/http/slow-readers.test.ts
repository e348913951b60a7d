import assert from "node:assert/strict";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { DroppedEventsNotice, EventBacklog } from "../../../emulator/http/event-stream.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

/** More events than the system and the emulator buffer for a client that does not read. */
const tooMany = 2_000;
const long = "&abcdefghijklmnopqrst".repeat(400);

/** Opens an event stream, reads its head and pauses until `readUntil`. */
async function openSlowReader(t: TestContext, { routerUrl, token }: TestEmulator, path: string) {
  const { port, host } = new URL(routerUrl);
  const socket = net.connect(Number(port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write(`GET /_emulator/${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`);
  const chunks: string[] = [];
  let onChunk = () => {};
  socket.on("data", (chunk) => {
    chunks.push(String(chunk));
    onChunk();
  });
  /** Searches only the newest text for the word, because all of it has megabytes. */
  const readUntil = (word: string) =>
    new Promise<string>((resolve) => {
      onChunk = () => chunks.slice(-2).join("").includes(word) && resolve(chunks.join(""));
      socket.resume();
    });
  await readUntil("\r\n\r\n");
  socket.pause();
  return { readUntil };
}

/** Sends all requests at once over one connection, and waits for the last response. */
function sendManyRequests({ routerUrl }: TestEmulator, count: number): Promise<void> {
  const { port, host } = new URL(routerUrl);
  const socket = net.connect(Number(port), "127.0.0.1");
  for (let i = 1; i <= count; i += 1) {
    const close = i === count ? "connection: close\r\n" : "";
    socket.write(`GET /router/v1/clusters/?${i}${long} HTTP/1.1\r\nhost: ${host}\r\n${close}\r\n`);
  }
  return new Promise((resolve) => socket.on("close", () => resolve()).resume());
}

describe("slow reader of the request log", () => {
  it("receives the number of missed requests, then the next ones", async (t) => {
    const emulator = await startTestEmulator(t);
    const reader = await openSlowReader(t, emulator, "requests/events?operation=clusters.list");
    await sendManyRequests(emulator, tooMany);
    const text = await reader.readUntil(`?${tooMany}&`);

    const requestNumbers = [...text.matchAll(/"target":"\/router\/v1\/clusters\/\?(\d+)&/g)].map(([, number]) =>
      Number(number),
    );
    const words = [...text.matchAll(/event: resync\ndata: \{"missed":(\d+)\}\n\n/g)].map(([, missedCount]) =>
      Number(missedCount),
    );
    assert.equal(words.length, 1);
    assert.equal(requestNumbers.length + words[0]!, tooMany);
    const gap = requestNumbers.findIndex((number, i) => number !== i + 1);
    assert.deepEqual(
      requestNumbers,
      Array.from({ length: tooMany }, (_, i) => i + 1).filter((number) => number <= gap || number > gap + words[0]!),
    );
    assert.ok(text.indexOf("event: resync") < text.indexOf(`?${requestNumbers[gap]}&`));
  });
});

describe("backlog of a slow reader", () => {
  it("is limited to the newest 1 MiB", () => {
    const backlog = new EventBacklog<number>();
    for (let i = 0; i < 100; i += 1) backlog.add(i, 2 ** 16);
    assert.deepEqual(backlog.take(), [new DroppedEventsNotice(84), ...Array.from({ length: 16 }, (_, i) => 84 + i)]);
    assert.deepEqual(backlog.take(), []);
  });
});
