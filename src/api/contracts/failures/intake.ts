import { detail, domain } from "../../failure.ts";

// The specification, Errors: these three messages are exact; the code is public (DECISIONS.md, F5).
const code = "SVC_PUBLIC_00039";

export const intakeFailures = {
  "unknown-file-ids": domain({
    status: 400,
    when: "a file id does not exist in the workspace",
    basis: "specified",
    code,
    says: "One or more file_ids not found in workspace",
  }),
  "unpublished-workflow": domain({
    status: 400,
    when: "the workflow is unknown in the workspace, or has no published version",
    basis: "specified",
    code,
    says: "This workflow has no published version for the workspace",
  }),
  "not-an-intake-workflow": domain({
    status: 400,
    when: "the workflow is not an INTAKE_WORKFLOW",
    basis: "specified",
    code,
    says: "This workflow is not an INTAKE_WORKFLOW",
  }),
  "invalid-sort": detail({
    status: 400,
    when: "the list cannot be sorted by that field",
    basis: "public",
    says: "Invalid sort field",
  }),
};
