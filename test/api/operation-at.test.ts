import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findOperationAt, type Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";

describe("operation lookup by method and path", () => {
  it("finds every declared method and path with any parameters", () => {
    const wrong = (registry as readonly Operation[])
      .filter(({ id }) => id !== "catch-all")
      .flatMap((operation) => [operation.method].flat().map((method) => ({ operation, method })))
      .filter(({ operation, method }) => {
        const same = (registry as readonly Operation[]).filter(
          ({ service, id }) => service.name === operation.service.name && id !== "catch-all",
        );
        const found = findOperationAt(same, method, operation.path.replace(/\{\w+\}/g, "a%2Fb.c"));
        // A literal segment can match the parameter of another path.
        return found === undefined || found.path.split("/").length !== operation.path.split("/").length;
      })
      .map(({ operation, method }) => `${method} ${operation.path}`);
    assert.deepEqual(wrong, []);
  });

  it("rejects a missing, empty or extra segment and another method", () => {
    const operations = [{ method: "GET", path: "/a.b/{id}/status" }] as const;
    const found = ["/a.b/1/status", "/axb/1/status", "/a.b//status", "/a.b/1", "/a.b/1/status/", "/a.b/1/2/status"].map(
      (path) => findOperationAt(operations, "GET", path) !== undefined,
    );
    assert.deepEqual(found, [true, false, false, false, false, false]);
    assert.equal(findOperationAt(operations, "POST", "/a.b/1/status"), undefined);
  });
});
