import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { RowTable } from "../../../../emulator/store/live/row-table.ts";
import { defineRows } from "../../../../emulator/store/port.ts";

const part = { word: "a" };

describe("frozen row", () => {
  for (const [kind, field] of [
    ["a list", [part]],
    ["an object", part],
    ["a list in an object", { b: [part] }],
    ["null", null],
    ["nothing", undefined],
  ] as const) {
    it(`is frozen deeply if a field contains ${kind}`, () => {
      const row = structuredClone({ id: 1, field });
      new RowTable(defineRows<typeof row>({ name: "rows", schema: z.any(), key: ({ id }) => id, indexes: {} })).put(
        row,
      );
      assert.deepEqual(findUnfrozenPaths(row), []);
    });
  }
});

/** Returns the paths of all mutable values. */
function findUnfrozenPaths(value: unknown, path = "row"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const within = Object.entries(value).flatMap(([name, inner]) => findUnfrozenPaths(inner, `${path}.${name}`));
  return Object.isFrozen(value) ? within : [path, ...within];
}
