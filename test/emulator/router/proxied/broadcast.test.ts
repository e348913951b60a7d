import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

describe("request without a known owner", () => {
  const body = { hello: "all" };

  it("reaches every cluster, and prefers seed order on a manual clock", async (t) => {
    const world = await startRoutedEmulator(t);
    let answerLast = () => {};
    world.eu.answer((_, response) => {
      answerLast = () => response.writeHead(201).end("eu");
    });
    world.us.answer((_, response) => {
      response.on("close", () => answerLast());
      response.writeHead(200).end("us");
    });
    const answer = await world.router("PATCH", "/x", { body });
    assert.deepEqual(
      [pickStatusAndBody(answer), answer.headers.get("x-svc-matched")],
      [{ status: 201, body: "eu" }, "catch-all"],
    );
    for (const { received } of [world.eu, world.us]) {
      assert.deepEqual(
        received.map(({ method, url, body: bytes }) => [method, url, bytes.toString()]),
        [["PATCH", "/x", JSON.stringify(body)]],
      );
    }
  });

  it("returns the first success without aborting the other requests", { timeout: 20_000 }, async (t) => {
    const world = await startRoutedEmulator(t, { clock: { mode: "real" }, upstreamTimeoutMs: 600_000 });
    let finish = () => {};
    const finished = new Promise<boolean>((resolve) => {
      world.eu.answer((_, response) => {
        response.on("close", () => resolve(response.writableFinished));
        // Without a reader, the connection would block.
        finish = () => response.end(Buffer.alloc(20_000_000));
      });
    });
    world.us.answer((_, response) => response.end("first"));
    assert.deepEqual(pickStatusAndBody(await world.router("POST", "/x", { body })), { status: 200, body: "first" });
    finish();
    assert.equal(await finished, true);
  });

  it("accepts a redirect as a success", async (t) => {
    const world = await startRoutedEmulator(t);
    world.eu.answer((_, response) => response.writeHead(303, { location: "/there" }).end());
    const answer = await world.router("GET", "/x");
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/there"]);
  });

  for (const [eu, us, expected] of [
    [500, 404, 404],
    [404, 500, 404],
    [403, 403, 403],
  ] as const) {
    it(`returns the lowest status of ${eu} and ${us}`, async (t) => {
      const world = await startRoutedEmulator(t);
      world.eu.answer((_, response) => response.writeHead(eu).end("eu"));
      world.us.answer((_, response) => response.writeHead(us).end("us"));
      const lowest = eu <= us ? "eu" : "us";
      assert.deepEqual(pickStatusAndBody(await world.router("GET", "/x")), { status: expected, body: lowest });
    });
  }

  it("returns the response of a reachable cluster", async (t) => {
    const world = await startRoutedEmulator(t, { clock: { mode: "real" } });
    world.eu.answer((_, response) => response.destroy());
    world.us.answer((_, response) => response.writeHead(404).end("us"));
    assert.deepEqual(pickStatusAndBody(await world.router("GET", "/x")), { status: 404, body: "us" });
    world.us.answer((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await world.router("GET", "/x")), {
      status: 502,
      body: { detail: "No cluster is reachable" },
    });
  });

  it("neither waits for a slow cluster nor aborts its request", async (t) => {
    const world = await startRoutedEmulator(t, { upstreamTimeoutMs: 1_000 });
    let finish = () => {};
    const finished = new Promise<boolean>((resolve) => {
      world.us.answer((_, response) => {
        response.on("close", () => resolve(response.writableFinished));
        finish = () => response.end("late");
      });
    });
    world.eu.answer((_, response) => response.writeHead(404).end("eu"));
    assert.deepEqual(pickStatusAndBody(await world.router("GET", "/x")), { status: 404, body: "eu" });
    finish();
    assert.equal(await finished, true);

    world.us.answer(() => {});
    world.eu.answer((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await world.router("GET", "/x")), {
      status: 504,
      body: { detail: "Cluster us-1 did not answer in time" },
    });
  });
});
