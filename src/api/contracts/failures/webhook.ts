import { assumed } from "../../basis.ts";
import { detail, domain } from "../../failure.ts";

const codeUnknown = "Status and shape are public. The code is not.";

export const webhookFailures = {
  "developer-settings-required": domain({
    status: 403,
    when: "the API key does not have the permission Developer Settings",
    basis: assumed(codeUnknown),
    code: "SVC_ASSUMED_201",
    says: "You do not have permission to perform this action.",
  }),
  "webhook-not-found": domain({
    status: 404,
    when: "the webhook is unknown, or belongs to another workspace",
    basis: assumed(codeUnknown),
    code: "SVC_ASSUMED_202",
    says: "Webhook not found.",
  }),
  "nothing-to-re-trigger": detail({
    status: 404,
    when: "a contract is unknown, or none of the contracts has caused a webhook delivery",
    basis: "public",
    says: "Not Found",
  }),
};
