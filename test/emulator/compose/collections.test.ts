import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as z from "zod";
import { collections } from "../../../emulator/compose/state/collections.ts";
import type { Collection } from "../../../emulator/store/port.ts";
import { assertGolden } from "../../support/golden.ts";
import { members, membersWithoutMigration, owners, thirdMembers } from "../../support/versioned-rows.ts";

/** The form of each collection: its version and, for rows, their JSON Schema. */
type Forms = Readonly<Record<string, { readonly version: number; readonly schema: unknown }>>;

const describeForms = (stored: readonly Collection[]): Forms =>
  Object.fromEntries(
    [...stored]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => {
        if (each.kind === "mapping") return [each.name, { version: 1, schema: "mapping" }];
        const schema = z.toJSONSchema(each.schema, { unrepresentable: "any" });
        return [each.name, { version: 1 + (each.migrate?.length ?? 0), schema }];
      }),
  );

/** Changes that make existing states unreadable. */
function findBreakingChanges(stored: Forms, current: Forms): string[] {
  return Object.entries(stored).flatMap(([name, before]) => {
    const now = current[name];
    if (now === undefined) return [`${name} is gone: a state that holds it would be refused`];
    if (now.version < before.version) return [`${name} goes back from version ${before.version} to ${now.version}`];
    const same = JSON.stringify(now.schema) === JSON.stringify(before.schema);
    if (same || now.version > before.version) return [];
    return [`the schema of ${name} has changed under version ${now.version}: add a step to its migrate`];
  });
}

const file = "collections.json";

describe("row format of the state", () => {
  it("equals the format of released states or has a higher version", () => {
    const currentForms = describeForms(collections);
    const storedForms = JSON.parse(
      readFileSync(new URL(`../../../fixtures/golden/${file}`, import.meta.url), "utf8"),
    ) as Forms;
    // Before the golden file, so that UPDATE_GOLDEN=1 accepts additions and rejects breaking changes.
    assert.deepEqual(findBreakingChanges(storedForms, JSON.parse(JSON.stringify(currentForms))), []);
    assertGolden(file, `${JSON.stringify(currentForms, null, 1)}\n`);
  });

  it("requires a new version when a schema changes", () => {
    const first = describeForms([members, owners]);
    assert.deepEqual(findBreakingChanges(first, describeForms([membersWithoutMigration, owners])), [
      "the schema of members has changed under version 1: add a step to its migrate",
    ]);
    assert.deepEqual(findBreakingChanges(first, describeForms([owners])), [
      "members is gone: a state that holds it would be refused",
    ]);
    assert.deepEqual(findBreakingChanges(describeForms([thirdMembers]), first), [
      "members goes back from version 3 to 1",
    ]);
    assert.deepEqual(findBreakingChanges(first, describeForms([thirdMembers, owners])), []);
  });
});
