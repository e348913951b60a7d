import { isDeepStrictEqual } from "node:util";
import type { Fail } from "../../../src/api/failures.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import { emit } from "../../webhooks/emit.ts";
import { type ContractType, contractTypes } from "../../world/workspaces.ts";
import { noteUnknownAnswers, problemsOf } from "../templates/answers.ts";
import { orgUser } from "../workspace/people.ts";
import type { ClusterHandlers } from "../world.ts";
import { changed } from "./creation/new-contract.ts";
import { contractFacts } from "./facts.ts";
import { performer } from "./performer.ts";
import { type Contract, requireContract, requireContractNumber } from "./rows.ts";

export const intakeFormHandlers = {
  "intake-form.update": ({ params, body }, { store, clock, caller, fail, finding }) =>
    store.transaction("intake-form.update", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      const type = await tx.get(contractTypes, row.contract_type_id);
      requireOpen(row, type, fail);
      const questions = type?.intake_form ?? [];
      noteUnknownAnswers(finding, "", questions, body);
      const problems = problemsOf(questions, body, { partial: true });
      if (problems) return fail("invalid-fields", problems);

      const at = clock.now();
      const { data: before = {}, created_at = at } = row.intake_form ?? {};
      const data = { ...before, ...body };
      if (isDeepStrictEqual(data, before)) return { data, created: isoSeconds(created_at) };
      const intake_form = { data, created_at: at };
      const after = changed(tx, row, at, { intake_form });
      await emit(tx, clock, {
        workspace_id: after.workspace_id,
        activity: "CONTRACT_DATA_UPDATED",
        at,
        performed_by: performer(caller),
        contract: await contractFacts(tx, after),
      });
      return { data, created: isoSeconds(at) };
    }),

  "intake-form.responses": ({ params, query }, { store, caller, fail }) =>
    store.read(async (view) => {
      const row = await requireContractNumber(view, caller, params.contract_id, fail);
      const creator = await orgUser(view, row.created_by);
      const template = query.questionnaire_type === "TEMPLATE";
      const answers = template ? row.contract_data : row.intake_form?.data;
      const created = template ? row.created_at : row.intake_form?.created_at;
      const respondent = { created_by: creator.name, org_name: caller.workspace.name };
      return {
        questionnaire_response_data: answers ?? {},
        respondents: created === undefined ? [] : [{ created_at: isoSeconds(created), ...respondent }],
      };
    }),
} satisfies ClusterHandlers;

/** DECISIONS.md, C14 */
function requireOpen(row: Contract, type: ContractType | undefined, fail: Fail<"intake-form-closed">): void {
  const paper = row.kind === "THIRD_PARTY_CONTRACT" || row.kind === "SIGN_CONTRACT";
  if (!paper || !type?.editable_response)
    fail("intake-form-closed", { reason: "its workflow has no editable response" });
  if (row.status === "REDLINING") return;
  if (row.kind !== "SIGN_CONTRACT" || row.status !== "SIGN") {
    fail("intake-form-closed", { reason: `the contract is in status ${row.status}` });
  }
  if (row.signatories.some(({ action }) => action !== null)) {
    fail("intake-form-closed", { reason: "a signatory has signed" });
  }
}
