import { assumed } from "../../basis.ts";
import { domain } from "../../failure.ts";

export const referenceFailures = {
  "unknown-jurisdiction": domain({
    status: 400,
    when: "jurisdiction_iso_code is not one of the workspace's jurisdictions",
    basis: assumed("Status and shape are public. Code and message are not."),
    code: "SVC_ASSUMED_203",
    says: ({ code }: { code: string }) => `Jurisdiction ${code} is not configured in the workspace.`,
  }),
  "approvals-in-progress": domain({
    status: 400,
    when: "an earlier group of approvals is not complete",
    basis: assumed("The code is public, its status is not."),
    code: "SVC_CONTRACTS_00152",
    says: "Another approval group is in progress.",
  }),
};
