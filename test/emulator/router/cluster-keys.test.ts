import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../src/api/failure.ts";
import { failures } from "../../../src/api/failures.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { fillTemplate } from "../../../src/base/urls.ts";
import { pickStatusAndBody } from "../../support/emulator.ts";
import { clusterKeys, startRoutedEmulator } from "../../support/routed-emulator.ts";

const operations = registry as readonly Operation[];

/** Returns the first example of an operation, with the cluster instead of eu-1. */
function createExampleRequest({ method, path, examples }: Operation, cluster: string) {
  const [{ params = {}, body } = {}] = JSON.parse(JSON.stringify(examples).replaceAll('"eu-1"', `"${cluster}"`));
  return { method: [method].flat()[0]!, target: fillTemplate(path, params), ...(body !== undefined && { body }) };
}

const createFailureResponse = (code: keyof typeof failures, data: unknown) => {
  const { status, body } = failures[code] as Failure<unknown>;
  return { status, body: body(data) };
};

describe("declared failure of a cluster key", () => {
  const cases = [
    ["missing-cluster-key", "eu-1", undefined],
    ["invalid-cluster-key", "eu-1", "nobody's"],
    ["foreign-cluster-key", "eu-1", clusterKeys["us-1"]],
    ["unknown-cluster", "nowhere", clusterKeys["eu-1"]],
  ] as const;
  for (const [code, cluster, key] of cases) {
    it(`is returned by every operation that declares ${code}`, async (t) => {
      const { router } = await startRoutedEmulator(t, { strict: ["keys"] });
      const declaring = operations.filter(({ id, failures }) => failures.includes(code) && id !== "billing.event");
      assert.ok(declaring.length > 10);
      for (const operation of declaring) {
        const { method, target, ...sent } = createExampleRequest(operation, cluster);
        const headers: Record<string, string> = key === undefined ? {} : { "x-cluster-key": key };
        const response = await router(method, target, { ...sent, headers });
        assert.deepEqual(pickStatusAndBody(response), createFailureResponse(code, { cluster }), operation.id);
      }
    });
  }
});
