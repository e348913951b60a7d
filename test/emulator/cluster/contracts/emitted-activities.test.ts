import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ForbiddenMove, lifecycle, type Move, type Trigger } from "../../../../src/api/contracts/lifecycle.ts";
import type { Operation } from "../../../../src/api/operation.ts";
import { registry } from "../../../../src/api/registry.ts";

const parties = ["COUNTER_PARTY_CREATED", "COUNTER_PARTY_CONTACT_CREATED"];

/** The triggers that an operation may pull, and what it tells beside them. */
const triggersOf: Readonly<
  Record<string, { readonly triggers: readonly Trigger[]; readonly beside?: readonly string[] }>
> = {
  "contracts.create": {
    triggers: ["create-from-template", "send"],
    beside: [...parties, "COUNTER_PARTY_ADDRESS_CREATED", "CONTRACT_EXTERNAL_METADATA_CREATED"],
  },
  "contracts.send": { triggers: ["send"] },
  "execution.mark": { triggers: ["mark-for-execution"] },
  "execution.unmark": { triggers: ["unmark-for-execution"] },
  "execution.void": { triggers: ["void"] },
  "execution.request-review": { triggers: ["request-review"] },
  "documents.upload-version": { triggers: ["upload-version", "upload-executed-version", "executed-outside"] },
  "executed.import": {
    triggers: ["import-executed"],
    beside: [...parties, "COUNTER_PARTY_ADDRESS_CREATED", "CONTRACT_EXTERNAL_METADATA_CREATED"],
  },
  "paper.upload-for-review": {
    triggers: ["upload-for-review"],
    beside: [...parties, "CONTRACT_EXTERNAL_METADATA_CREATED"],
  },
  "paper.upload-for-signature": {
    triggers: ["upload-for-signature"],
    beside: [...parties, "CONTRACT_EXTERNAL_METADATA_CREATED"],
  },
  "approvals.create": { triggers: ["request-approval"] },
  "emulator-contracts.sign": { triggers: ["sign", "all-signed"] },
  "emulator-contracts.decline": { triggers: ["decline"] },
  "emulator-contracts.complete-review": { triggers: ["complete-review"] },
  "emulator-contracts.approve": { triggers: ["approve"] },
  "emulator-contracts.void": { triggers: ["void"] },
  "emulator-contracts.hold": { triggers: ["hold"] },
  "emulator-contracts.resume": { triggers: ["resume"] },
  "emulator-contracts.delete": { triggers: ["delete"] },
};

const rows: readonly (Move | ForbiddenMove)[] = lifecycle;

const toldBy = (trigger: Trigger): readonly string[] =>
  rows.flatMap((row) => (row.trigger === trigger && "emits" in row ? [...row.emits, ...(row.later ?? [])] : []));

describe("what an operation says it tells", () => {
  for (const [id, { triggers, beside = [] }] of Object.entries(triggersOf)) {
    it(`is what the lifecycle tells of its moves: ${id}`, () => {
      const operation = (registry as readonly Operation[]).find((each) => each.id === id);
      const expected = new Set([...triggers.flatMap(toldBy), ...beside]);
      assert.deepEqual([...(operation?.emits ?? [])].sort(), [...expected].sort());
    });
  }

  it("leaves out no trigger of the lifecycle", () => {
    const named = new Set(Object.values(triggersOf).flatMap(({ triggers }) => triggers));
    assert.deepEqual(
      rows.map(({ trigger }) => trigger).filter((trigger) => !named.has(trigger)),
      [],
    );
  });
});
