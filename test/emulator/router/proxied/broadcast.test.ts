import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

describe("request without a known owner", () => {
  const body = { hello: "all" };

  it("reaches every cluster, and prefers seed order on a manual clock", async (t) => {
    const emulator = await startRoutedEmulator(t);
    let answerLast = () => {};
    emulator.eu.respond((_, response) => {
      answerLast = () => response.writeHead(201).end("eu");
    });
    emulator.us.respond((_, response) => {
      response.on("close", () => answerLast());
      response.writeHead(200).end("us");
    });
    const response = await emulator.router("PATCH", "/x", { body });
    assert.deepEqual(
      [pickStatusAndBody(response), response.headers.get("x-svc-matched")],
      [{ status: 201, body: "eu" }, "catch-all"],
    );
    for (const { received } of [emulator.eu, emulator.us]) {
      assert.deepEqual(
        received.map(({ method, url, body: bytes }) => [method, url, bytes.toString()]),
        [["PATCH", "/x", JSON.stringify(body)]],
      );
    }
  });

  it("returns the first success without aborting the other requests", { timeout: 20_000 }, async (t) => {
    const emulator = await startRoutedEmulator(t, { clock: { mode: "real" }, upstreamTimeoutMs: 600_000 });
    let finish = () => {};
    const finished = new Promise<boolean>((resolve) => {
      emulator.eu.respond((_, response) => {
        response.on("close", () => resolve(response.writableFinished));
        // Without a reader, the connection would block.
        finish = () => response.end(Buffer.alloc(20_000_000));
      });
    });
    emulator.us.respond((_, response) => response.end("first"));
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", "/x", { body })), { status: 200, body: "first" });
    finish();
    assert.equal(await finished, true);
  });

  it("accepts a redirect as a success", async (t) => {
    const emulator = await startRoutedEmulator(t);
    emulator.eu.respond((_, response) => response.writeHead(303, { location: "/there" }).end());
    const response = await emulator.router("GET", "/x");
    assert.deepEqual([response.status, response.headers.get("location")], [303, "/there"]);
  });

  for (const [eu, us, expected] of [
    [500, 404, 404],
    [404, 500, 404],
    [403, 403, 403],
  ] as const) {
    it(`returns the lowest status of ${eu} and ${us}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      emulator.eu.respond((_, response) => response.writeHead(eu).end("eu"));
      emulator.us.respond((_, response) => response.writeHead(us).end("us"));
      const lowest = eu <= us ? "eu" : "us";
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x")), { status: expected, body: lowest });
    });
  }

  it("returns the response of a reachable cluster", async (t) => {
    const emulator = await startRoutedEmulator(t, { clock: { mode: "real" } });
    emulator.eu.respond((_, response) => response.destroy());
    emulator.us.respond((_, response) => response.writeHead(404).end("us"));
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x")), { status: 404, body: "us" });
    emulator.us.respond((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x")), {
      status: 502,
      body: { detail: "No cluster is reachable" },
    });
  });

  it("neither waits for a slow cluster nor aborts its request", async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 1_000 });
    let finish = () => {};
    const finished = new Promise<boolean>((resolve) => {
      emulator.us.respond((_, response) => {
        response.on("close", () => resolve(response.writableFinished));
        finish = () => response.end("late");
      });
    });
    emulator.eu.respond((_, response) => response.writeHead(404).end("eu"));
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x")), { status: 404, body: "eu" });
    finish();
    assert.equal(await finished, true);

    emulator.us.respond(() => {});
    emulator.eu.respond((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x")), {
      status: 504,
      body: { detail: "Cluster us-1 did not answer in time" },
    });
  });
});
