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
    basis: assumed("The default message of the framework."),
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
    basis: assumed("A suspended service rejects requests. The response is not public."),
    says: "This workspace is suspended.",
  }),
  "invalid-fields": invalidFields,
  "json-parse-error": detail({
    status: 400,
    when: "the body is not JSON",
    basis: assumed("The default message of the framework."),
    says: ({ reason }: { reason: string }) => `JSON parse error - ${reason}`,
  }),
  "method-not-allowed": detail({
    status: 405,
    when: "the path exists, but not with this method",
    basis: assumed("The default message of the framework."),
    says: ({ method }: { method: string }) => `Method "${method}" not allowed.`,
  }),
  "unsupported-media-type": detail({
    status: 415,
    when: "the body is of another type than declared",
    basis: assumed("The default message of the framework."),
    says: ({ type }: { type: string }) => `Unsupported media type "${type}" in request.`,
  }),
  throttled: detail({
    status: 429,
    when: "the workspace made more requests per second than SVC_RATE_LIMIT allows",
    basis: assumed("The default message of the framework. The limit of 10 is public."),
    says: ({ seconds }: { seconds: number }) =>
      `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? "" : "s"}.`,
    headers: ({ seconds }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-body-too-large": detail({
    status: 413,
    when: "the body, or the webhook payload that it causes, is larger than 64 MiB",
    basis: assumed("The limit is not public. The emulator requires one."),
    says: "Request body is too large.",
  }),
  "pdfs-busy": detail({
    status: 503,
    when: "too many PDFs are queued, or this one was queued for 30 seconds",
    basis: assumed("The emulator reads one PDF at a time, with a bounded queue."),
    says: "Too many documents are being read. Try again later.",
    headers: ({ seconds }: { seconds: number }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-store-failed": detail({
    status: 503,
    when: "the state cannot be written to disk",
    basis: assumed("A service that cannot write responds that it is unavailable."),
    says: "The service cannot write its state.",
  }),
  "not-found": detail({
    status: 404,
    when: "the resource is unknown or belongs to another workspace, or its ID is malformed",
    basis: "public",
    says: "Not found.",
  }),
};
