import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

/** Starts a router that maps the client `app` to eu-1. */
async function startWithClient(t: Parameters<typeof startRoutedEmulator>[0]): Promise<RoutedEmulator> {
  const emulator = await startRoutedEmulator(t);
  await emulator.map("clients", "eu-1", ["app"]);
  return emulator;
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
  const listReceivedNames = ({ eu, us }: RoutedEmulator) =>
    [eu, us].map(({ received }) =>
      received.map(({ headers }) => Object.keys(all).filter((name) => headers[name] !== undefined)),
    );
  const findings = async (emulator: RoutedEmulator) => {
    const { body } = await emulator.control("GET", "requests?operation=catch-all");
    return (body as { items: { findings: { code: string; detail: string }[] }[] }).items
      .flatMap((item) => item.findings)
      .filter(({ code }) => code === "credentials-omitted")
      .map(({ detail }) => detail);
  };

  it("sends credentials to their own cluster", async (t) => {
    const emulator = await startWithClient(t);
    await emulator.router("GET", "/x", { headers: all });
    assert.deepEqual(listReceivedNames(emulator), [[Object.keys(all)], []]);
    assert.deepEqual(await findings(emulator), []);
  });

  it("withholds credentials from another cluster, with a finding", async (t) => {
    const emulator = await startWithClient(t);
    await emulator.router("GET", "/x?cluster_id=us-1", { headers: all });
    assert.deepEqual(listReceivedNames(emulator), [[], [["cookie"]]]);
    assert.deepEqual(await findings(emulator), [
      "x-cluster-key, client-id, client-secret, authorization: not for us-1",
    ]);
  });

  it("sends credentials of an unmapped client to a single named cluster only", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const headers = { "client-id": "app", "client-secret": "s3cret", authorization: "Bearer of-somebody" };
    await emulator.router("GET", "/x?cluster_id=us-1", { headers });
    await emulator.router("GET", "/x", { headers });
    assert.deepEqual(listReceivedNames(emulator), [
      [["authorization"]],
      [["client-id", "client-secret", "authorization"], ["authorization"]],
    ]);
    assert.deepEqual(await findings(emulator), ["client-id, client-secret: not for several clusters"]);
  });

  it("sends no credentials with requests for keys or configuration", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const headers = { "x-cluster-key": "key-of-eu-1", "client-id": "app", "client-secret": "s" };
    for (const path of ["jwks.json", "openid-configuration"]) {
      await emulator.router("GET", `/.well-known/${path}`, { headers });
    }
    assert.deepEqual(listReceivedNames(emulator), [
      [[], []],
      [[], []],
    ]);
  });
});
