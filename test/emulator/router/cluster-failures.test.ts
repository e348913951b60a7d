import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Failure } from "../../../src/api/failure.ts";
import { failures } from "../../../src/api/failures.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { pickStatusAndBody } from "../../support/emulator.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../support/routed-emulator.ts";
import { apps, forwardingRequests, mapIdentifiers } from "./forwarding-requests.ts";

const operations = registry as readonly Operation[];
const clusterFailures = ["cluster-unreachable", "no-cluster-reachable", "cluster-timeout", "forwarding-loop"] as const;
type ClusterFailure = (typeof clusterFailures)[number];

/** Returns the response to a failure at eu-1. */
function createFailureResponse(code: ClusterFailure) {
  const { status, body } = failures[code] as Failure<{ readonly cluster: string }>;
  return { status, body: body({ cluster: "eu-1" }) };
}

/** URL without a listener. */
const unusedUrl = "http://127.0.0.1:9";

/** Functions that start a router whose clusters have the failure. */
const starters: Readonly<Record<ClusterFailure, (t: TestContext) => Promise<RoutedEmulator>>> = {
  "cluster-unreachable": (t) => startUnreachable(t),
  "no-cluster-reachable": (t) => startUnreachable(t),
  "cluster-timeout": async (t) => {
    const emulator = await startRoutedEmulator(t, { apps, upstreamTimeoutMs: 100, chatUpstreamTimeoutMs: 100 });
    for (const cluster of [emulator.eu, emulator.us]) cluster.respond(() => {});
    return emulator;
  },
  "forwarding-loop": (t) => startRoutedEmulator(t, { apps }),
};

const startUnreachable = (t: TestContext) => {
  const clusters = ["eu-1", "us-1"].map((id) => ({ id, label: id, key: `key-of-${id}`, external_url: unusedUrl }));
  return startRoutedEmulator(t, { seed: { clusters, apps } });
};

/** Returns the header that marks a forwarded request. */
async function readForwardingMark(emulator: RoutedEmulator): Promise<Record<string, string>> {
  await emulator.router("GET", "/marked?cluster_id=eu-1");
  return { via: emulator.eu.received.at(-1)!.headers.via! };
}

describe("declared failure of a cluster", () => {
  for (const code of clusterFailures) {
    it(`is returned by every operation that declares ${code}`, async (t) => {
      const emulator = await starters[code](t);
      await mapIdentifiers(emulator);
      const more = code === "forwarding-loop" ? await readForwardingMark(emulator) : {};
      for (const { id, failures: declared } of operations) {
        if (!declared.includes(code)) continue;
        const { toOne, toAll } = forwardingRequests[id] ?? {};
        const call =
          code === "no-cluster-reachable" ? toAll : code === "cluster-unreachable" ? toOne : (toOne ?? toAll);
        assert.ok(call, `${id} declares ${code}`);
        assert.deepEqual(pickStatusAndBody(await call(emulator, more)), createFailureResponse(code), id);
      }
    });
  }

  it("depends on whether an operation requests one or several clusters", () => {
    const forwarding = operations.filter(({ failures: declared }) =>
      clusterFailures.some((code) => declared.includes(code)),
    );
    assert.deepEqual(forwarding.map(({ id }) => id).sort(), Object.keys(forwardingRequests).sort());
    for (const { id, failures: declared } of forwarding) {
      const { toOne, toAll } = forwardingRequests[id]!;
      assert.equal(declared.includes("cluster-unreachable"), toOne !== undefined, id);
      assert.equal(declared.includes("no-cluster-reachable"), toAll !== undefined, id);
    }
  });
});
