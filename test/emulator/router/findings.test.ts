import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Routed, routed } from "../../support/routed.ts";

interface Logged {
  readonly items: readonly { readonly findings: readonly object[] }[];
}

/** What the request log found in the newest request to the router. */
const newest = async (world: Routed) =>
  ((await world.ask("GET", "requests?service=router")).body as Logged).items.at(-1)?.findings;

describe("the request log notes of the routing service", () => {
  it("a missing cluster key, and identifiers that were moved", async (t) => {
    const world = await routed(t);
    const noKey = { code: "no-cluster-key", detail: "x-cluster-key is absent" };
    await world.map("emails", "eu-1", ["a", "b"]);
    assert.deepEqual(await newest(world), [noKey]);
    await world.map("emails", "us-1", ["a", "b", "c"]);
    assert.deepEqual(await newest(world), [
      noKey,
      { code: "mapping-moved", detail: "2 of cluster_emails belonged to another cluster" },
    ]);
  });

  it("who was asked, and the answers that nobody got", async (t) => {
    const world = await routed(t);
    const asked = { code: "asked-several", detail: "eu-1, us-1" };
    await world.router("GET", "/x");
    assert.deepEqual(await newest(world), [
      asked,
      { code: "answer-dropped", detail: "us-1 answered 200, not the first" },
    ]);
    world.eu.answer((_, response) => response.destroy());
    await world.router("GET", "/x");
    assert.deepEqual(await newest(world), [asked, { code: "cluster-unreachable", detail: "eu-1: UND_ERR_SOCKET" }]);
  });

  it("an answer that came late", async (t) => {
    const world = await routed(t, { upstreamTimeoutMs: 40 });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      world.us.answer((_, response) => {
        response.on("close", resolve);
        finish = () => response.end("late");
      });
    });
    await world.router("GET", "/x");
    const asked = { code: "asked-several", detail: "eu-1, us-1" };
    assert.deepEqual(await newest(world), [asked]);
    finish();
    await finished;
    assert.deepEqual(await newest(world), [asked, { code: "answer-dropped", detail: "us-1 answered 200, late" }]);
  });

  it("a signature of chat_a that nobody checked", async (t) => {
    const world = await routed(t);
    await world.map("teams", "us-1", ["T1"]);
    await world.router("POST", "/router/v1/integrations/chat_a/webhook/event/", { body: { team_id: "T1" } });
    assert.deepEqual(await newest(world), [
      { code: "signature-unchecked", detail: "the seed has no signing secret of chat_a" },
    ]);
  });
});
