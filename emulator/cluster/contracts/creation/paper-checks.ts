import type * as z from "zod";
import type { UploadReviewRequest } from "../../../../src/api/contracts/paper.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import type { View } from "../../../store/port.ts";
import { type ContractType, roles, type Workspace } from "../../../world/workspaces.ts";
import { Problems } from "../../field-problems.ts";
import type { Checked } from "../../pdf/pdf.ts";
import { problemsOf } from "../../templates/answers.ts";
import { noSuchUser, ownContractType, ownEntity, ownUser, primaryEntity } from "../../workspace/own-rows.ts";
import { noSuchRow } from "../../workspace/people.ts";
import { requireKnownConfiguration } from "../external-metadata.ts";
import { type PartyInput, partyOfFields } from "../parties.ts";
import type { Review } from "../rows.ts";

/** What the review route takes; what the signature route takes is a part of it. */
export type PaperRequest = z.output<typeof UploadReviewRequest>;
export type Reviewer = Pick<Review, "reviewer_user_id" | "reviewer_role_id" | "description">;

/** The rows, the party and the file that an upload names, or all that is wrong with it (DECISIONS.md, C9). */
export async function acceptable(
  view: View,
  workspace: Workspace,
  route: "review" | "sign",
  body: PaperRequest,
  checked: Checked,
  fail: Fail<"invalid-fields" | "type-without-route" | "unknown-object-configuration">,
) {
  const problems = new Problems();
  const type = await ownContractType(view, workspace, body.contract_type_id, problems);
  const entityId = body.creator_organization_entity_id;
  const entity =
    entityId == null
      ? await primaryEntity(view, workspace)
      : await ownEntity(view, workspace, entityId, "creator_organization_entity_id", problems);
  const party = partyOf(body, problems);
  const owner = await businessUser(view, workspace, body.business_user_email, problems);
  const reviewer = await reviewerOf(view, workspace, type, body.reviewer, problems);
  if (checked.problem !== undefined) problems.add(["file_base64"], checked.problem);
  if (route === "sign" && !body.creator_signatories?.length) {
    problems.add(["creator_signatories"], body.creator_signatories ? "This list may not be empty." : "Field required");
  }
  // Nobody else signs for the other side.
  if (route === "sign" && body.counterparty_poc_details == null) {
    problems.add(["counterparty_poc_details"], "Field required");
  }
  const answers = body.intake_form_data ?? {};
  problems.addAll(["intake_form_data"], problemsOf(type?.intake_form ?? [], answers, { partial: route === "review" }));

  if (problems.found || !type || !party || checked.problem !== undefined) return fail("invalid-fields", problems.found);
  if (!type.routes.includes(route)) return fail("type-without-route");
  requireKnownConfiguration(body.external_metadata, fail);
  return { type, entity, party, reviewer, owner, file: checked.file };
}

function partyOf(body: PaperRequest, problems: Problems): PartyInput | undefined {
  if (body.counterparty_organization_name != null) return partyOfFields(body);
  if (body.counterparty_workspace_id == null) {
    problems.add(["counterparty_organization_name"], "Field required");
    return undefined;
  }
  // Workspaces are separate: the number is all that this one may know of another.
  return partyOfFields({ ...body, counterparty_organization_name: `Workspace ${body.counterparty_workspace_id}` });
}

async function businessUser(view: View, workspace: Workspace, email: string | null | undefined, problems: Problems) {
  if (email == null) return undefined;
  const user = await ownUser(view, workspace, email);
  if (!user) problems.add(["business_user_email"], noSuchUser(email));
  return user;
}

/** The named user or role; without either, the default role of the contract type. */
async function reviewerOf(
  view: View,
  workspace: Workspace,
  type: ContractType | undefined,
  given: PaperRequest["reviewer"],
  problems: Problems,
): Promise<Reviewer> {
  const description = given?.description ?? "";
  const user = given?.org_user_email == null ? undefined : await ownUser(view, workspace, given.org_user_email);
  if (given?.org_user_email != null && !user) {
    problems.add(["reviewer", "org_user_email"], noSuchUser(given.org_user_email));
  }
  const role = given?.role_id == null ? undefined : await view.get(roles, given.role_id);
  if (given?.role_id != null && role?.workspace_id !== workspace.id) {
    problems.add(["reviewer", "role_id"], noSuchRow(given.role_id));
  }
  const named = user !== undefined || given?.role_id != null;
  return {
    reviewer_user_id: user?.id ?? null,
    reviewer_role_id: given?.role_id ?? (named ? null : (type?.default_reviewer_role_id ?? null)),
    description,
  };
}
