import { assumed } from "../../basis.ts";
import { detail, type Failure } from "../../failure.ts";
import { contractFailures } from "./contract.ts";
import { intakeFailures } from "./intake.ts";
import { referenceFailures } from "./reference.ts";
import { webhookFailures } from "./webhook.ts";

const invalidFields: Failure<unknown> = {
  status: 400,
  shape: "fields",
  when: "the body or the query is malformed",
  basis: "public",
  body: (fields) => fields,
};

export const contractsFailures = {
  ...contractFailures,
  ...intakeFailures,
  ...webhookFailures,
  ...referenceFailures,
  "no-credentials": detail({
    status: 401,
    when: "client-id or client-secret is missing",
    basis: "public",
    says: "Authentication credentials were not provided.",
  }),
  "wrong-credentials": detail({
    status: 401,
    when: "client-id and client-secret are not a known pair",
    basis: assumed("The framework's own words for it."),
    says: "Incorrect authentication credentials.",
  }),
  "permission-denied": detail({
    status: 403,
    when: "the key or the user named by user-email may not do this",
    basis: "public",
    says: "You do not have permission to perform this action.",
  }),
  "workspace-suspended": detail({
    status: 403,
    when: "the billing provider reported that the subscription of the workspace is paused or cancelled",
    basis: assumed("A service that is not paid for refuses; nobody says how."),
    says: "This workspace is suspended.",
  }),
  "invalid-fields": invalidFields,
  "json-parse-error": detail({
    status: 400,
    when: "the body is not JSON",
    basis: assumed("The framework's own words for it."),
    says: ({ reason }: { reason: string }) => `JSON parse error - ${reason}`,
  }),
  "method-not-allowed": detail({
    status: 405,
    when: "the path exists, but not with this method",
    basis: assumed("The framework's own words for it."),
    says: ({ method }: { method: string }) => `Method "${method}" not allowed.`,
  }),
  "unsupported-media-type": detail({
    status: 415,
    when: "the body is of another type than declared",
    basis: assumed("The framework's own words for it."),
    says: ({ type }: { type: string }) => `Unsupported media type "${type}" in request.`,
  }),
  throttled: detail({
    status: 429,
    when: "the workspace made more requests a second than --rate-limit allows",
    basis: assumed("The framework's own words for it; the limit of 10 is public."),
    says: ({ seconds }: { seconds: number }) =>
      `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? "" : "s"}.`,
    headers: ({ seconds }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-body-too-large": detail({
    status: 413,
    when: "the body, or all that it makes the emulator tell, is larger than 64 MiB",
    basis: assumed("No limit is published; the emulator needs one."),
    says: "Request body is too large.",
  }),
  "pdfs-busy": detail({
    status: 503,
    when: "too many other PDFs wait to be read, or this one has waited for 30 seconds",
    basis: assumed("The emulator reads one PDF at a time, and lets no more wait than it can hold."),
    says: "Too many documents are being read. Try again later.",
    headers: ({ seconds }: { seconds: number }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-store-failed": detail({
    status: 503,
    when: "the state cannot be written to disk",
    basis: assumed("A service that cannot write answers that it is unavailable."),
    says: "The service cannot write its state.",
  }),
  "not-found": detail({
    status: 404,
    when: "what the path names is unknown or belongs to another workspace, or its id cannot be one",
    basis: "public",
    says: "Not found.",
  }),
};
