import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

/** Starts a router that maps the client `app` to eu-1. */
async function withClient(t: Parameters<typeof startRoutedEmulator>[0]): Promise<RoutedEmulator> {
  const world = await startRoutedEmulator(t);
  await world.map("clients", "eu-1", ["app"]);
  return world;
}

describe("forwarding of credentials", () => {
  const all = {
    "x-cluster-key": "key-of-eu-1",
    "client-id": "app",
    "client-secret": "s3cret",
    authorization: "Bearer key-of-eu-1",
    cookie: "a=1",
  };
  /** Returns the credentials of each received request, by cluster. */
  const arrived = ({ eu, us }: RoutedEmulator) =>
    [eu, us].map(({ received }) =>
      received.map(({ headers }) => Object.keys(all).filter((name) => headers[name] !== undefined)),
    );
  const findings = async (world: RoutedEmulator) => {
    const { body } = await world.ask("GET", "requests?operation=catch-all");
    return (body as { items: { findings: { code: string; detail: string }[] }[] }).items
      .flatMap((item) => item.findings)
      .filter(({ code }) => code === "credentials-omitted")
      .map(({ detail }) => detail);
  };

  it("sends credentials to their own cluster", async (t) => {
    const world = await withClient(t);
    await world.router("GET", "/x", { headers: all });
    assert.deepEqual(arrived(world), [[Object.keys(all)], []]);
    assert.deepEqual(await findings(world), []);
  });

  it("withholds credentials from another cluster, with a finding", async (t) => {
    const world = await withClient(t);
    await world.router("GET", "/x?cluster_id=us-1", { headers: all });
    assert.deepEqual(arrived(world), [[], [["cookie"]]]);
    assert.deepEqual(await findings(world), ["x-cluster-key, client-id, client-secret, authorization: not for us-1"]);
  });

  it("sends credentials of an unmapped client to a single named cluster only", async (t) => {
    const world = await startRoutedEmulator(t);
    const headers = { "client-id": "app", "client-secret": "s3cret", authorization: "Bearer of-somebody" };
    await world.router("GET", "/x?cluster_id=us-1", { headers });
    await world.router("GET", "/x", { headers });
    assert.deepEqual(arrived(world), [
      [["authorization"]],
      [["client-id", "client-secret", "authorization"], ["authorization"]],
    ]);
    assert.deepEqual(await findings(world), ["client-id, client-secret: not for several clusters"]);
  });

  it("sends no credentials with requests for keys or configuration", async (t) => {
    const world = await startRoutedEmulator(t);
    const headers = { "x-cluster-key": "key-of-eu-1", "client-id": "app", "client-secret": "s" };
    for (const path of ["jwks.json", "openid-configuration"]) {
      await world.router("GET", `/.well-known/${path}`, { headers });
    }
    assert.deepEqual(arrived(world), [
      [[], []],
      [[], []],
    ]);
  });
});
