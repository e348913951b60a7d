import { joinWords } from "../../base/text.ts";
import { defineDetailFailure, defineDomainFailure, type Failure } from "../failure.ts";

const stateRule = { assumed: "No operation declares 402 or 409. A rejection by status is 400 (DECISIONS.md, C22)." };
const assumedCode = {
  assumed: "The code is not public; shape and status follow the other domain errors (DECISIONS.md, C1).",
};

/** Shape B', without status_code and message (DECISIONS.md, F4, F5). */
const shortDomain = ({ when, code, says }: { when: string; code: string; says: string }): Failure<void> => ({
  status: 400,
  shape: "detail",
  when,
  basis: "public",
  body: () => ({ detail: says, code }),
});

// These three messages are exact (specification, Errors). The code is public (DECISIONS.md, F5).
const code = "SVC_PUBLIC_00039";

const codeUnknown = { assumed: "Status and shape are public. The code is not." };

interface TurnFailureData {
  readonly email: string;
  /** E-mail addresses of the people whose turn it is, for actions of a person. */
  readonly turn?: readonly string[];
}

const describeTurn = (turn: readonly string[] = []): string =>
  turn.length === 0 ? "" : ` It is the turn of ${joinWords(turn)}.`;

export const contractsFailures = {
  // Contracts
  "forbidden-move": defineDomainFailure({
    when: "the contract's status does not allow it",
    basis: stateRule,
    code: "SVC_ASSUMED_101",
    says: ({ status, words }: { status: string; words: string }) =>
      `A contract in status ${status} cannot be ${words}.`,
  }),
  "no-signatories": defineDomainFailure({
    when: "the contract has no signatories",
    basis: stateRule,
    code: "SVC_ASSUMED_102",
    says: "No signatories are configured for this contract.",
  }),
  "review-open": defineDomainFailure({
    when: "a review of the contract is not complete",
    basis: stateRule,
    code: "SVC_ASSUMED_103",
    says: "The review of this contract is not complete.",
  }),
  "approvals-pending": defineDomainFailure({
    when: "an approval of the contract is pending",
    basis: stateRule,
    code: "SVC_ASSUMED_104",
    says: "Approvals of this contract are pending.",
  }),
  "no-open-review": defineDomainFailure({
    when: "no review of the contract is open",
    basis: stateRule,
    code: "SVC_ASSUMED_105",
    says: "No review of this contract is open.",
  }),
  "no-pending-approval": defineDomainFailure({
    when: "no approval of the contract is pending",
    basis: stateRule,
    code: "SVC_ASSUMED_106",
    says: "No approval of this contract is pending.",
  }),
  "not-a-signatory": defineDomainFailure({
    when: "the address does not belong to a signatory of the contract",
    basis: assumedCode,
    code: "SVC_ASSUMED_107",
    says: ({ email, turn }: TurnFailureData) => `${email} is not a signatory of this contract.${describeTurn(turn)}`,
  }),
  "already-signed": defineDomainFailure({
    when: "the signatory has already signed",
    basis: assumedCode,
    code: "SVC_ASSUMED_108",
    says: ({ email, turn }: TurnFailureData) => `${email} has already signed this contract.${describeTurn(turn)}`,
  }),
  "not-their-turn": defineDomainFailure({
    when: "another signatory must sign first",
    basis: assumedCode,
    code: "SVC_ASSUMED_109",
    says: ({ email, first }: { email: string; first: string }) => `${first} signs before ${email}.`,
  }),
  "no-creator-slot": defineDomainFailure({
    when: "the payload names a signatory of the creator, but the template has none",
    basis: "specified",
    code: "SVC_ASSUMED_110",
    says: "The template does not have a signatory of the creator's side.",
  }),
  "creator-slot-empty": defineDomainFailure({
    when: "the template requires a signatory of the creator, and neither payload nor template names one",
    basis: assumedCode,
    code: "SVC_ASSUMED_111",
    says: "The template needs a signatory of the creator's side.",
  }),
  "intake-form-closed": defineDomainFailure({
    when: "the status, a signature or the workflow does not allow changes of the answers",
    basis: assumedCode,
    code: "SVC_ASSUMED_112",
    says: ({ reason }: { reason: string }) => `The intake form cannot be changed: ${reason}.`,
  }),
  "contract-data-closed": defineDomainFailure({
    when: "the contract is not a template contract in DRAFT or REDLINING",
    basis: assumedCode,
    code: "SVC_ASSUMED_113",
    says: "Contract data can be changed on template contracts in DRAFT or REDLINING only.",
  }),
  "contract-data-executed": shortDomain({
    when: "the contract is executed",
    code: "SVC_PUBLIC_00009",
    says: "Contract data of an executed contract cannot be updated.",
  }),
  "circular-relation": shortDomain({
    when: "the relation would make a contract its own ancestor",
    code: "SVC_CONTRACTS_00093",
    says: "Circular contract relation.",
  }),
  "type-without-route": defineDomainFailure({
    when: "the contract type has no published upload workflow for the route",
    basis: { assumed: "The code is public, but its status is not." },
    code: "SVC_CONTRACTS_00289",
    says: "The contract type is not linked to a published third-party paper upload workflow.",
  }),
  "unknown-object-configuration": defineDomainFailure({
    status: 404,
    when: "object_configuration_id is unknown; emulated workspaces have none configured",
    basis: "public",
    code: "SVC_INTEGRATIONS_00021",
    says: "Object configuration not found.",
  }),
  "cannot-void-executed": defineDetailFailure({
    status: 400,
    when: "the contract is executed",
    basis: "public",
    says: "Cannot void an executed contract.",
  }),
  "cannot-unmark": defineDetailFailure({
    status: 400,
    when: "the contract is not marked for execution",
    basis: "public",
    says: "Unable to unmark the contract for execution.",
  }),
  "no-document": defineDomainFailure({
    when: "the contract has no document of that format, or only an older one",
    basis: assumedCode,
    code: "SVC_ASSUMED_114",
    says: ({ format, hasOlder }: { format: string; hasOlder?: boolean }) =>
      hasOlder
        ? `The newest version of this contract is not a ${format} document.`
        : `This contract has no ${format} document.`,
  }),
  "not-a-contact": defineDomainFailure({
    when: "no counterparty of the contract has a contact with that address",
    basis: assumedCode,
    code: "SVC_ASSUMED_115",
    says: ({ email }: { email: string }) => `${email} is not a contact of a counterparty of this contract.`,
  }),
  // business_user and process_metrics respond with a capital F and without a full stop (DECISIONS.md, F5).
  "contract-not-found": defineDetailFailure({
    status: 404,
    when: "the contract is unknown, or belongs to another workspace",
    basis: "public",
    says: "Not Found",
  }),

  // Intakes
  "unknown-file-ids": defineDomainFailure({
    when: "a file ID does not exist in the workspace",
    basis: "specified",
    code,
    says: "One or more file_ids not found in workspace",
  }),
  "unpublished-workflow": defineDomainFailure({
    when: "the workflow is unknown in the workspace, or has no published version",
    basis: "specified",
    code,
    says: "This workflow has no published version for the workspace",
  }),
  "not-an-intake-workflow": defineDomainFailure({
    when: "the workflow is not an INTAKE_WORKFLOW",
    basis: "specified",
    code,
    says: "This workflow is not an INTAKE_WORKFLOW",
  }),
  "invalid-sort": defineDetailFailure({
    status: 400,
    when: "the list cannot be sorted by that field",
    basis: "public",
    says: "Invalid sort field",
  }),

  // Webhooks
  "developer-settings-required": defineDomainFailure({
    status: 403,
    when: "the API key does not have the permission Developer Settings",
    basis: codeUnknown,
    code: "SVC_ASSUMED_201",
    says: "You do not have permission to perform this action.",
  }),
  "webhook-not-found": defineDomainFailure({
    status: 404,
    when: "the webhook is unknown, or belongs to another workspace",
    basis: codeUnknown,
    code: "SVC_ASSUMED_202",
    says: "Webhook not found.",
  }),
  "nothing-to-re-trigger": defineDetailFailure({
    status: 404,
    when: "a contract is unknown, or no existing webhook has a delivery of any of the contracts",
    basis: "public",
    says: "Not Found",
  }),

  // Reference data and approvals
  "unknown-jurisdiction": defineDomainFailure({
    when: "jurisdiction_iso_code is not one of the workspace's jurisdictions",
    basis: { assumed: "Status and shape are public. Code and message are not." },
    code: "SVC_ASSUMED_203",
    says: ({ code }: { code: string }) => `Jurisdiction ${code} is not configured in the workspace.`,
  }),
  "approvals-in-progress": defineDomainFailure({
    when: "an earlier group of approvals is not complete",
    basis: { assumed: "The code is public, but its status is not." },
    code: "SVC_CONTRACTS_00152",
    says: "Another approval group is in progress.",
  }),

  // All operations
  "no-credentials": defineDetailFailure({
    status: 401,
    when: "client-id or client-secret is missing",
    basis: "public",
    says: "Authentication credentials were not provided.",
  }),
  "wrong-credentials": defineDetailFailure({
    status: 401,
    when: "client-id and client-secret are not a known pair",
    basis: { assumed: "The default message of the framework." },
    says: "Incorrect authentication credentials.",
  }),
  "permission-denied": defineDetailFailure({
    status: 403,
    when: "the key or the user named by user-email may not do this",
    basis: "public",
    says: "You do not have permission to perform this action.",
  }),
  "workspace-suspended": defineDetailFailure({
    status: 403,
    when: "the billing provider reported that the subscription of the workspace is paused or cancelled",
    basis: { assumed: "A suspended service rejects requests. The response is not public." },
    says: "This workspace is suspended.",
  }),
  "invalid-fields": {
    status: 400,
    shape: "fields",
    when: "the body or the query is malformed",
    basis: "public",
    body: (fields) => fields,
  } satisfies Failure<unknown>,
  "json-parse-error": defineDetailFailure({
    status: 400,
    when: "the body is not JSON",
    basis: { assumed: "The default message of the framework." },
    says: ({ reason }: { reason: string }) => `JSON parse error - ${reason}`,
  }),
  "method-not-allowed": defineDetailFailure({
    status: 405,
    when: "the path exists, but not with this method",
    basis: { assumed: "The default message of the framework." },
    says: ({ method }: { method: string }) => `Method "${method}" not allowed.`,
  }),
  "unsupported-media-type": defineDetailFailure({
    status: 415,
    when: "the media type of the body is not the declared one",
    basis: { assumed: "The default message of the framework." },
    says: ({ type }: { type: string }) => `Unsupported media type "${type}" in request.`,
  }),
  throttled: defineDetailFailure({
    status: 429,
    when: "the workspace made more requests per second than SVC_RATE_LIMIT allows",
    basis: { assumed: "The default message of the framework. The limit of 10 is public." },
    says: ({ seconds }: { seconds: number }) =>
      `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? "" : "s"}.`,
    headers: ({ seconds }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-body-too-large": defineDetailFailure({
    status: 413,
    when: "the body, or the webhook payload that it causes, is larger than 64 MiB",
    basis: { assumed: "The limit is not public. The emulator requires one." },
    says: "Request body is too large.",
  }),
  "pdfs-busy": defineDetailFailure({
    status: 503,
    when: "too many PDFs are queued, or this one was queued for 30 seconds",
    basis: { assumed: "The emulator reads one PDF at a time, with a bounded queue." },
    says: "Too many documents are being read. Try again later.",
    headers: ({ seconds }: { seconds: number }) => ({ "retry-after": String(seconds) }),
  }),
  "contracts-store-failed": defineDetailFailure({
    status: 503,
    when: "the state cannot be written to disk",
    basis: { assumed: "A service that cannot write responds that it is unavailable." },
    says: "The service cannot write its state.",
  }),
  "not-found": defineDetailFailure({
    status: 404,
    when: "the resource is unknown or belongs to another workspace, or its ID is malformed",
    basis: "public",
    says: "Not found.",
  }),
};
