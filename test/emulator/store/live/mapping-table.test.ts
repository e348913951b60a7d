import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MappingTable } from "../../../../emulator/store/live/mapping-table.ts";

const identifiers = fc.array(fc.integer({ min: 0, max: 12 }).map(String), { maxLength: 6 });
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom("map", "unmap"), cluster: fc.constantFrom("eu-1", "us-1"), identifiers }),
  fc.record({ kind: fc.constantFrom("open", "close") }),
);

describe("mapping table", () => {
  it("behaves like a Map with unchanging snapshots", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const table = new MappingTable();
        const plain = new Map<string, string>();
        const open: { picture: ReturnType<MappingTable["takeSnapshot"]>; expected: [string, string][] }[] = [];
        const close = () => {
          const { picture, expected } = open.shift()!;
          assert.deepEqual([...picture.entries].sort(), expected.sort());
          picture.end();
        };
        for (const step of steps) {
          if (step.kind === "open") open.push({ picture: table.takeSnapshot(), expected: [...plain] });
          else if (step.kind === "close" && open.length > 0) close();
          if (!("cluster" in step)) continue;
          const before = step.identifiers.map((identifier) => {
            const owner = plain.get(identifier);
            if (step.kind === "map") plain.set(identifier, step.cluster);
            else if (owner === step.cluster) plain.delete(identifier);
            return owner;
          });
          const owners =
            step.kind === "map"
              ? table.map(step.cluster, step.identifiers)
              : table.unmap(step.cluster, step.identifiers);
          assert.deepEqual(owners, before);
        }
        for (let i = 0; i <= 12; i += 1) assert.equal(table.lookup(String(i)), plain.get(String(i)));
        assert.equal(table.size, plain.size);
        while (open.length > 0) close();
        assert.deepEqual([...table.takeSnapshot().entries].sort(), [...plain].sort());
      }),
    );
  });

  it("undoes added and removed mappings", () => {
    fc.assert(
      fc.property(identifiers, identifiers, fc.boolean(), (first, second, isSnapshotOpen) => {
        const table = new MappingTable();
        table.map("eu-1", first);
        const { size } = table;
        const picture = isSnapshotOpen ? table.takeSnapshot() : undefined;
        const mapped = table.map("us-1", second);
        table.undo(second, mapped);
        const removed = table.unmap("eu-1", second);
        table.undo(second, removed);
        picture?.end();
        assert.deepEqual(
          [...table.takeSnapshot().entries].sort(),
          [...new Set(first)].map((value) => [value, "eu-1"]).sort(),
        );
        assert.equal(table.size, size);
      }),
    );
  });
});
