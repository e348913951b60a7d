import type * as z from "zod";
import type { ImportExecutedRequest, UploadReviewRequest } from "../../../../src/api/contracts/paper.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import { type ContractType, entities, roles, type Workspace } from "../../../domain/workspaces.ts";
import { ProblemCollector } from "../../../http/dialects/field-problems.ts";
import type { View } from "../../../store/port.ts";
import type { ClusterCall, ClusterHandlers } from "../../context.ts";
import { emitCounterpartyChanges } from "../../counterparties/rows.ts";
import { createVersion, storeFile } from "../../documents/contract-pdf.ts";
import { checkPdf, type PdfCheckResult } from "../../pdf/reader.ts";
import { reportUnknownAnswers, validateAnswers } from "../../templates/answers.ts";
import {
  findActiveUserByEmail,
  findEntityByReference,
  findNamedContractType,
  findNamedRow,
} from "../../workspace/workspace-rows.ts";
import { normalizeMetadata, requireKnownConfiguration } from "../external-metadata.ts";
import { createByTransition } from "../lifecycle/transition.ts";
import { type PartyInput, parsePartyFields, resolveParties } from "../parties.ts";
import { toListedContract, toPerformer } from "../records.ts";
import type { ContractParty, ContractReview } from "../rows.ts";
import { createContract } from "../rows.ts";
import {
  createSignatoryRows,
  listContactSignatories,
  type SignatoryInput,
  toPartyInputs,
} from "./template-contract.ts";

/** Handlers for third-party paper by its two routes (specification, Endpoints, rule 3; DECISIONS.md, C9). */
export const paperHandlers = {
  "paper.upload-for-review": ({ body }, call) => createFromUpload("review", body, call),
  "paper.upload-for-signature": ({ body }, call) => createFromUpload("sign", body, call),
  // Executed contracts are uploaded like third-party paper (DECISIONS.md, C8).
  "executed.import": async ({ body }, call) => {
    const { store, blobs, pdfs, clock, caller, fail } = call;
    const { workspace, user } = caller;
    // Validation guarantees that one of the two fields is set.
    const pdfCheck = await checkPdf((body.file_base64 ?? body.file_content)!, pdfs, fail);
    // Validation precedes storage, so a rejected import leaves nothing behind.
    const { file } = validateImport(store, workspace, body, pdfCheck, fail);
    const blob = await storeFile(blobs, file);

    return store.transaction("executed.import", (tx) => {
      const at = clock.now();
      const { type, entity } = validateImport(tx, workspace, body, pdfCheck, fail);
      const { parties, changes } = resolveParties(tx, listCounterparties(body), workspace, at);
      emitCounterpartyChanges(tx, call, changes);
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
      return toListedContract(tx, call, createByTransition(tx, call, contract, "import-executed", options));
    });
  },
} satisfies ClusterHandlers;

type PaperCall = ClusterCall<"invalid-fields" | "pdfs-busy" | "type-without-route" | "unknown-object-configuration">;

async function createFromUpload(route: "review" | "sign", body: PaperRequest, call: PaperCall) {
  const { store, blobs, pdfs, clock, caller, fail, finding } = call;
  const { workspace, user } = caller;
  const pdfCheck = await checkPdf(body.file_base64, pdfs, fail);
  // Validation precedes storage, so a rejected upload leaves nothing behind.
  const { type, file } = validate(store, workspace, route, body, pdfCheck, fail);
  reportUnknownAnswers(finding, "intake_form_data.", type.intake_form, body.intake_form_data ?? {});
  const blob = await storeFile(blobs, file);

  return store.transaction(`paper.upload-for-${route}`, (tx) => {
    const at = clock.now();
    const { type, entity, party, reviewer, owner } = validate(tx, workspace, route, body, pdfCheck, fail);
    const { parties, changes } = resolveParties(tx, [party], workspace, at);
    emitCounterpartyChanges(tx, call, changes);
    const people = resolvePaperSignatories(tx, workspace, body.creator_signatories ?? [], parties);
    const contract = createContract(tx, caller, at, {
      name: body.contract_name,
      kind: route === "review" ? "THIRD_PARTY_CONTRACT" : "SIGN_CONTRACT",
      contract_type_id: type.id,
      entity_id: entity?.id ?? null,
      counterparties: [...parties],
      signatories: createSignatoryRows(tx, workspace, people, at),
      reviews: route === "review" ? [{ id: 1, by: "internal", ...reviewer, requested_at: at, completed_at: null }] : [],
      intake_form: body.intake_form_data ? { data: body.intake_form_data, created_at: at } : null,
      external_metadata: normalizeMetadata(body.external_metadata),
      versions: [createVersion(tx, user, at, { file_name: body.file_name, blob })],
      business_user_id: owner?.id ?? user.id,
    });
    const trigger = route === "review" ? "upload-for-review" : "upload-for-signature";
    const options = { performer: toPerformer(caller) };
    return toListedContract(tx, call, createByTransition(tx, call, contract, trigger, options));
  });
}

function resolvePaperSignatories(
  view: View,
  workspace: Workspace,
  creatorSignatories: NonNullable<PaperRequest["creator_signatories"]>,
  parties: readonly ContractParty[],
): SignatoryInput[] {
  const creators = creatorSignatories.map(({ email, title, note }) => {
    const name = findActiveUserByEmail(view, workspace, email)?.name ?? email;
    return { name, email, is_counterparty: false, counterparty_name: null, title, note: note ?? null };
  });
  return [...creators, ...listContactSignatories(parties)];
}

/** Fields of the review route, which include those of the signature route. */
type PaperRequest = z.output<typeof UploadReviewRequest>;
type Reviewer = Pick<ContractReview, "reviewer_user_id" | "reviewer_role_id" | "description">;

/** Rejects with every invalid field (DECISIONS.md, C9). */
function validate(
  view: View,
  workspace: Workspace,
  route: "review" | "sign",
  body: PaperRequest,
  pdfCheck: PdfCheckResult,
  fail: Fail<"invalid-fields" | "type-without-route" | "unknown-object-configuration">,
) {
  const problems = new ProblemCollector();
  const type = findNamedContractType(view, workspace, body.contract_type_id, problems);
  const entityId = body.creator_organization_entity_id;
  const entity =
    entityId == null
      ? findEntityByReference(view, workspace)
      : findNamedRow(view, entities, workspace, entityId, ["creator_organization_entity_id"], problems);
  const party = parseParty(body, problems);
  const owner = findNamedUser(view, workspace, body.business_user_email, ["business_user_email"], problems);
  const reviewer = findReviewer(view, workspace, type, body.reviewer, problems);
  if (pdfCheck.problem !== undefined) problems.add(["file_base64"], pdfCheck.problem);
  if (route === "sign" && !body.creator_signatories?.length) {
    problems.add(["creator_signatories"], body.creator_signatories ? "This list may not be empty." : "Field required");
  }
  // The counterparty could never sign without a signatory.
  if (route === "sign" && body.counterparty_poc_details == null) {
    problems.add(["counterparty_poc_details"], "Field required");
  }
  const answers = body.intake_form_data ?? {};
  problems.addAll(
    ["intake_form_data"],
    validateAnswers(type?.intake_form ?? [], answers, { partial: route === "review" }),
  );

  if (problems.fields || !type || !party || pdfCheck.problem !== undefined)
    return fail("invalid-fields", problems.fields);
  if (!type.routes.includes(route)) return fail("type-without-route");
  requireKnownConfiguration(body.external_metadata, fail);
  return { type, entity, party, reviewer, owner, file: pdfCheck.file };
}

function parseParty(body: PaperRequest, problems: ProblemCollector): PartyInput | undefined {
  if (body.counterparty_organization_name != null) return parsePartyFields(body);
  if (body.counterparty_workspace_id == null) {
    problems.add(["counterparty_organization_name"], "Field required");
    return undefined;
  }
  // Workspaces are isolated, so only the number of another workspace's contract is revealed.
  return parsePartyFields({ ...body, counterparty_organization_name: `Workspace ${body.counterparty_workspace_id}` });
}

function findNamedUser(
  view: View,
  workspace: Workspace,
  email: string | null | undefined,
  path: readonly string[],
  problems: ProblemCollector,
) {
  if (email == null) return undefined;
  const user = findActiveUserByEmail(view, workspace, email);
  if (!user) problems.add(path, `Object with email=${email} does not exist.`);
  return user;
}

function findReviewer(
  view: View,
  workspace: Workspace,
  type: ContractType | undefined,
  input: PaperRequest["reviewer"],
  problems: ProblemCollector,
): Reviewer {
  const user = findNamedUser(view, workspace, input?.org_user_email, ["reviewer", "org_user_email"], problems);
  if (input?.role_id != null) findNamedRow(view, roles, workspace, input.role_id, ["reviewer", "role_id"], problems);
  const isNamed = user !== undefined || input?.role_id != null;
  return {
    reviewer_user_id: user?.id ?? null,
    reviewer_role_id: input?.role_id ?? (isNamed ? null : (type?.default_reviewer_role_id ?? null)),
    description: input?.description ?? "",
  };
}

type ImportRequest = z.output<typeof ImportExecutedRequest>;

/** Returns the rows and the file that a request names. Rejects with every invalid field (DECISIONS.md, C8). */
function validateImport(
  view: View,
  workspace: Workspace,
  body: ImportRequest,
  pdfCheck: PdfCheckResult,
  fail: Fail<"invalid-fields" | "unknown-object-configuration">,
) {
  const problems = new ProblemCollector();
  const type = findNamedContractType(view, workspace, body.contract_type_id, problems);
  const entityField =
    body.creator_organization_entity_id === undefined && body.organization_entity_id !== undefined
      ? "organization_entity_id"
      : "creator_organization_entity_id";
  const entity = findNamedRow(view, entities, workspace, body[entityField]!, [entityField], problems);
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
function listCounterparties(body: ImportRequest): PartyInput[] {
  const party = parsePartyFields(body);
  return party ? [party] : toPartyInputs(body.counterparty_details ?? []);
}
