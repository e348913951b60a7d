import type * as z from "zod";
import type { ImportExecutedRequest } from "../../../../src/api/contracts/paper.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import { entities, type Workspace } from "../../../domain/workspaces.ts";
import type { View } from "../../../store/port.ts";
import type { ClusterHandlers } from "../../context.ts";
import { emitCounterpartyChanges } from "../../counterparties/rows.ts";
import { createVersion, storeFile } from "../../documents/contract-pdf.ts";
import { checkPdf, type PdfCheckResult } from "../../pdf/reader.ts";
import { ProblemCollector } from "../../response.ts";
import { findNamedContractType, findNamedRow } from "../../workspace/workspace-rows.ts";
import { normalizeMetadata, requireKnownConfiguration } from "../details.ts";
import { createByTransition } from "../lifecycle/transition.ts";
import { type PartyInput, parsePartyFields, resolveParties } from "../parties.ts";
import { toListedContract, toPerformer } from "../records.ts";
import { createContract } from "./new-contract.ts";
import { toPartyInputs } from "./template-contract.ts";

type Request = z.output<typeof ImportExecutedRequest>;

export const executedHandlers = {
  "executed.import": async ({ body }, call) => {
    const { store, blobs, pdfs, clock, caller, fail } = call;
    const { workspace, user } = caller;
    // Validation guarantees that one of the two fields is set.
    const pdfCheck = await checkPdf((body.file_base64 ?? body.file_content)!, pdfs, fail);
    // Validation precedes storage, so a rejected import leaves nothing behind.
    const { file } = await store.read((view) => validate(view, workspace, body, pdfCheck, fail));
    const blob = await storeFile(blobs, file);

    return store.transaction("executed.import", async (tx) => {
      const at = clock.now();
      const { type, entity } = await validate(tx, workspace, body, pdfCheck, fail);
      const { parties, changes } = await resolveParties(tx, listCounterparties(body), workspace, at);
      await emitCounterpartyChanges(tx, call, changes);
      const contract = createContract(tx, caller, at, {
        name: body.contract_name,
        kind: "EXECUTED_CONTRACT",
        contract_type_id: type.id,
        entity_id: entity.id,
        counterparties: [...parties],
        external_metadata: normalizeMetadata(body.external_metadata),
        versions: [createVersion(tx, user, at, { file_name: body.file_name, blob, is_executed_version: true })],
      });
      const options = { performer: toPerformer(caller) };
      return toListedContract(tx, call, await createByTransition(tx, call, contract, "import-executed", options));
    });
  },
} satisfies ClusterHandlers;

/** Returns the rows and the file that a request names. Rejects with every invalid field (DECISIONS.md, C8). */
async function validate(
  view: View,
  workspace: Workspace,
  body: Request,
  pdfCheck: PdfCheckResult,
  fail: Fail<"invalid-fields" | "unknown-object-configuration">,
) {
  const problems = new ProblemCollector();
  const type = await findNamedContractType(view, workspace, body.contract_type_id, problems);
  const entityField =
    body.creator_organization_entity_id === undefined && body.organization_entity_id !== undefined
      ? "organization_entity_id"
      : "creator_organization_entity_id";
  const entity = await findNamedRow(view, entities, workspace, body[entityField]!, [entityField], problems);
  if (!/\.pdf$/i.test(body.file_name)) problems.add(["file_name"], "Value should be a file name that ends in .pdf");
  // The problem is reported for file_base64 with either spelling (DECISIONS.md, C8).
  if (pdfCheck.problem !== undefined) problems.add(["file_base64"], pdfCheck.problem);

  if (problems.fields || !type || !entity || pdfCheck.problem !== undefined) {
    return fail("invalid-fields", problems.fields);
  }
  requireKnownConfiguration(body.external_metadata, fail);
  return { type, entity, file: pdfCheck.file };
}

/** The specification's fields describe one counterparty. The alternative field is a list (DECISIONS.md, C8 and F17). */
function listCounterparties(body: Request): PartyInput[] {
  const party = parsePartyFields(body);
  return party ? [party] : toPartyInputs(body.counterparty_details ?? []);
}
