import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { freezerOf } from "../../../../emulator/store/live/row-table.ts";

const part = z.strictObject({ word: z.string() });

describe("frozen row", () => {
  for (const [kind, field, value] of [
    ["a list", z.array(part), [{ word: "a" }]],
    ["an object", part, { word: "a" }],
    ["a nullable object", part.nullable(), { word: "a" }],
    ["an optional object", part.optional(), { word: "a" }],
    ["a record", z.record(z.string(), part), { b: { word: "a" } }],
    ["a union", z.union([z.string(), part]), { word: "a" }],
    ["an unknown type", z.unknown(), { word: "a" }],
  ] as const) {
    it(`is frozen deeply if a field contains ${kind}`, () => {
      const row = { id: 1, field: value };
      freezerOf(z.strictObject({ id: z.int(), field }))(row);
      assert.deepEqual(thawed(row), []);
    });
  }

  it("is frozen in fields outside of its schema", () => {
    const row = { id: 1, other: [{ word: "a" }] };
    freezerOf(z.looseObject({ id: z.int() }))(row);
    assert.deepEqual(thawed(row), []);
  });

  it("can contain null and omit optional fields", () => {
    const row = { id: 1, field: null };
    freezerOf(z.strictObject({ id: z.int(), field: part.nullable(), other: part.optional() }))(row);
    assert.deepEqual(thawed(row), []);
  });
});

/** Returns the paths of all mutable values. */
function thawed(value: unknown, path = "row"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const within = Object.entries(value).flatMap(([name, inner]) => thawed(inner, `${path}.${name}`));
  return Object.isFrozen(value) ? within : [path, ...within];
}
