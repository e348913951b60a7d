import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildReplaySeed } from "../../src/verify/replay/seed.ts";

/** An exchange with a router that responds with these fields. */
const createExchange = (operation: string, target: string, fields: object) => {
  const request = { method: "GET", target, headers: [], body: Buffer.alloc(0) };
  const response = { status: 200, headers: [], body: Buffer.from(JSON.stringify(fields)) };
  return { callee: "router", operation, at: 0, request, response } as const;
};

describe("initial state of a replay", () => {
  it("contains a cluster that only the response to a lookup names", () => {
    const mapping = { client_id: "ci-robot", cluster_id: "ap-7" };
    const target = "/router/v1/cluster_clients/client/ci-robot";
    const { clusters, mappings } = buildReplaySeed([createExchange("cluster-clients.show", target, mapping)], {});
    assert.deepEqual(clusters, [{ id: "ap-7", label: "ap-7" }]);
    assert.equal(JSON.stringify(mappings), '{"cluster_clients":{"ap-7":["ci-robot"]}}');
  });

  it("uses the ID as the label of a cluster that has none", () => {
    const clusterList = { clusters: [{ cluster_id: "eu-1", cluster_label: null }] };
    const { clusters } = buildReplaySeed([createExchange("clusters.list", "/router/v1/clusters", clusterList)], {});
    assert.deepEqual(clusters, [{ id: "eu-1", label: "eu-1" }]);
  });
});
