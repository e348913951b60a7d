import { isDeepStrictEqual } from "node:util";
import type { View } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import { templates } from "../../world/workspaces.ts";
import { noteUnknownAnswers, problemsOf } from "../templates/answers.ts";
import { activeUser, noSuchRow } from "../workspace/people.ts";
import type { ClusterHandlers } from "../world.ts";
import { changed } from "./creation/new-contract.ts";
import { contractFacts } from "./facts.ts";
import { performer } from "./performer.ts";
import { processMetrics } from "./process-metrics.ts";
import { type Contract, contracts, requireContract, requireContractNumber } from "./rows.ts";
import { requireInScope } from "./user-scope.ts";

/** What is kept beside a contract (DECISIONS.md, F22). */
export const contractDetailHandlers = {
  "contract-details.update-data": ({ params, body }, { store, clock, caller, fail, finding }) =>
    store.transaction("contract-details.update-data", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      if (row.status === "EXECUTED") return fail("contract-data-executed");
      const editable = row.status === "DRAFT" || row.status === "REDLINING";
      if (row.kind !== "TEMPLATE_CONTRACT" || !editable) return fail("contract-data-closed");
      const template = row.template_id === null ? undefined : await tx.get(templates, row.template_id);
      const questions = template?.attributes ?? [];
      noteUnknownAnswers(finding, "data.", questions, body.data);
      const problems = problemsOf(questions, body.data, { partial: true });
      if (problems) return fail("invalid-fields", { data: problems });

      const contract_data = { ...row.contract_data, ...body.data };
      if (isDeepStrictEqual(contract_data, row.contract_data)) return { data: contract_data };
      const at = clock.now();
      const after = changed(tx, row, at, { contract_data });
      await emit(tx, clock, {
        workspace_id: after.workspace_id,
        activity: "CONTRACT_DATA_UPDATED",
        at,
        performed_by: performer(caller),
        contract: await contractFacts(tx, after),
      });
      return { data: contract_data };
    }),

  "contract-details.notes": (input, { store, caller, fail }) =>
    store.read(async (view) => noteOf(await requireInScope(view, caller, input, fail))),

  "contract-details.put-note": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("contract-details.put-note", async (tx) => {
      const row = await requireContract(tx, caller, params.contract_id, fail);
      if (params.note_id !== noteOf(row).id) return fail("not-found");
      const note = { text: body.text, note_tag: body.note_tag?.name ?? null };
      return noteOf(changed(tx, row, clock.now(), { note }));
    }),

  "contract-details.business-user": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("contract-details.business-user", async (tx) => {
      const row = await requireContractNumber(tx, caller, params.contract_id, () => fail("contract-not-found"));
      const user = await activeUser(tx, caller.workspace, body.user_id);
      if (!user) return fail("invalid-fields", { user_id: [noSuchRow(body.user_id)] });
      changed(tx, row, clock.now(), { business_user_id: user.id });
      return { user_id: user.id, contract_id: row.id, type: "BUSINESS" as const };
    }),

  "contract-details.relate": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("contract-details.relate", async (tx) => {
      const row = await requireContractNumber(tx, caller, params.contract_id, fail);
      const related = await requireContractNumber(tx, caller, body.related_contract_id, () =>
        fail("invalid-fields", { related_contract_id: [noSuchRow(body.related_contract_id)] }),
      );
      // PARENT is said of the other contract; the rest is said of what hangs on this one.
      const [parent, child] = body.relation_type === "PARENT" ? [related, row] : [row, related];
      if (await descends(tx, parent, child.id)) return fail("circular-relation");
      const relation = { contract_id: parent.id, relation_type: body.relation_type };
      changed(tx, child, clock.now(), { parents: [...child.parents, relation] });
      return body;
    }),

  "contract-details.process-metrics": ({ params }, { store, caller, fail }) =>
    store.read(async (view) => {
      const row = await requireContractNumber(view, caller, params.contract_id, () => fail("contract-not-found"));
      return processMetrics(row);
    }),
} satisfies ClusterHandlers;

/** A contract has one note, which is empty at first; its id is the contract's number. */
const noteOf = ({ id, note }: Contract) => ({
  id,
  text: note?.text ?? "",
  ...(note?.note_tag != null && { note_tag: note.note_tag }),
});

/** Whether a contract is another one, or hangs on it over any number of steps. Each contract on the way is read once. */
async function descends(view: View, row: Contract, ancestorId: number): Promise<boolean> {
  const seen = new Set([row.id]);
  const waiting = [row];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (next.id === ancestorId) return true;
    for (const { contract_id } of next.parents) {
      if (seen.has(contract_id)) continue;
      seen.add(contract_id);
      const parent = await view.get(contracts, contract_id);
      if (parent) waiting.push(parent);
    }
  }
  return false;
}
