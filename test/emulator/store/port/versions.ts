import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exportDocument, importDocument } from "../../../support/store.ts";
import { members, owners, thirdMembers } from "../../../support/versioned-rows.ts";
import type { Open } from "./open.ts";

/** Rows of earlier versions of their collection. Files of other versions are tested separately. */
export function defineVersionsSuite(open: Open): void {
  describe("a row of an earlier version", () => {
    const expected = [{ id: 1, first_name: "Ada", grade: 1 }];

    it("is upgraded when its store is opened", async (t) => {
      const { store, durable } = await open(t, { collections: [members, owners] });
      if (!durable) return t.skip("it forgets");
      await store.transaction("seed", (tx) => tx.put(members, { id: 1, name: "Ada Keller" }));
      const later = await durable.reopen([thirdMembers, owners]);
      assert.deepEqual(later.store.list(thirdMembers, { by: "grade", equals: 1 }), expected);
    });

    it("is accepted in an imported document", async (t) => {
      const { store: from } = await open(t, { collections: [members, owners] });
      await from.transaction("seed", (tx) => tx.put(members, { id: 1, name: "Ada Keller" }));
      const { store: to } = await open(t, { collections: [thirdMembers, owners] });
      await importDocument(to, await exportDocument(from));
      assert.deepEqual(to.list(thirdMembers), expected);
    });
  });
}
