import { lifecycle, triggers } from "../../api/contracts/lifecycle.ts";
import { lookupTable } from "../../base/object.ts";
import { decodeUrlPart } from "../../base/urls.ts";
import type { ServiceError } from "../../client/errors.ts";
import { appSecretList } from "./app-secrets.ts";

/** Patterns for the object in an operation's path. The last match counts. */
const resourcePatterns: readonly (readonly [path: RegExp, noun: string])[] = [
  [/\/clusters\/([^/]+)/, "Cluster"],
  [/\/workspaces\/([^/]+)/, "Workspace"],
  [/\/contracts\/(?:approvals\/)?((?:[A-Z]-)?\d+)(?![^/?])/i, "Contract"],
  [/\/supported_documents\/([^/]+)/, "Contract"],
  [/\/by_external_metadata\/([^/]+)/, "Contract with external_metadata.id"],
  [/\/notes\/([^/]+)/, "Note"],
  [/\/key_pointers\/(\d+)/, "Key pointer"],
  [/\/templates\/(\d+)/, "Template"],
  [/\/contract_types\/(\d+)/, "Contract type"],
  [/\/counter_parties\/(\d+)/, "Counterparty"],
  [/\/contacts\/(\d+)/, "Contact"],
  [/\/addresses\/(\d+)/, "Address"],
  [/\/legal_intake\/(\d+)/, "Intake"],
  [/\/files\/([^/]+)/, "File"],
  [/\/cluster_emails\/email\/([^/]+)/, "E-mail hash"],
  [/\/cluster_clients\/client\/([^/]+)/, "Client"],
  [/\/webhooks\/(\d+)/, "Webhook"],
  [/\/_emulator\/deliveries\/(\d+)/, "Delivery"],
  [/\/_emulator\/snapshots\/([^/]+)/, "Snapshot"],
  [/\/_emulator\/tokens\/([^/]+)/, "Token"],
  [/\/_emulator\/faults\/([^/]+)/, "Fault"],
  [/\/_emulator\/traces\/([^/]+)/, "Trace"],
  [/\/_emulator\/device-grants\/([^/]+)/, "Device code"],
];

const maxIdLength = 40;

/** Operation of a path that no operation declares, so that a 404 proves nothing about the objects in it. */
const undeclaredOperation = "catch-all";

function findNamedResource(path: string) {
  const resources = resourcePatterns.flatMap(([pattern, noun]) => {
    const [, id] = pattern.exec(path) ?? [];
    return id === undefined || id.startsWith("[") ? [] : [{ noun, id: decodeUrlPart(id) }];
  });
  return resources.at(-1);
}

const notFound = /^(?:((?:[a-z_]+ ){0,2})not found|no \w+ matches the given query)\.?$/i;
const isForbidden = /^you do not have permission to perform this action\.?$/i;
const isStatus = /^(?:the service (?:answered|responded) with )?status \d+\.?$/i;

/** Participles in messages of the contract API and their verbs. `…` marks the position of the contract. */
const verbs = lookupTable<string>({
  sent: "send …",
  signed: "sign …",
  declined: "decline …",
  reviewed: "complete the review of …",
  approved: "approve …",
  marked: "mark …",
  unmarked: "unmark …",
  executed: "execute …",
  given: "upload a version of …",
  voided: "void …",
  put: "put …",
  resumed: "resume …",
  deleted: "delete …",
});

/** Formats `Cannot sign T-1: status is DRAFT, expected SIGN` for "A contract in status DRAFT cannot be signed." */
function describeForbiddenMove(message: string, named: { readonly id: string }): string | undefined {
  const [, status, words = ""] = /^A contract in status (\w+) cannot be (.+?)\.?$/.exec(message) ?? [];
  const [participle = "", ...rest] = words.split(" ");
  const verb = verbs[participle];
  if (status === undefined || verb === undefined) return undefined;
  const id = /^\d+$/.test(named.id) ? `T-${named.id}` : named.id;
  const suffix =
    participle === "given" || words === "sent to counterparties" ? "" : rest.map((word) => ` ${word}`).join("");
  const expected = new Set(
    lifecycle
      .filter(({ trigger }) => triggers[trigger] === words)
      .flatMap(({ from }) => from.filter((status) => status !== "(new)")),
  );
  const expectedNote = expected.size === 0 ? "" : `, expected ${[...expected].join(" or ")}`;
  return `Cannot ${verb.replace("…", id)}${suffix}: status is ${status}${expectedNote}`;
}

/** Whether the response is a page or another text, so that it may come from a proxy or another server. */
export const isOfOtherServer = ({ body, problem }: ServiceError): boolean =>
  typeof body === "string" && body.trim() !== "" && isStatus.test(problem.message);

/** Advice about credentials that no emulator sets, by the first part of the operation. */
const credentialHints = lookupTable<string>({
  ...Object.fromEntries(
    appSecretList.map(({ group, flag, env, label, hint }) => [group, hint ?? `Check ${label}: --${flag}, or ${env}.`]),
  ),
  oidc: "Check the client ID and the secret of the client.",
});

/** Returns advice about rejected credentials of apps and clients, and about access tokens (RFC 6750, 3.1). */
export function getCredentialHint({ operation, status, headers }: ServiceError): string | undefined {
  if (status !== 401) return undefined;
  return /\berror="?invalid_token\b/.test(headers["www-authenticate"] ?? "")
    ? "Sign in again with svc auth device-login, or set SVC_TOKEN to a valid access token."
    : credentialHints[operation.split(".")[0]!];
}

/** If the message has no subject, the path provides it. The status follows instead of a full stop. */
function describeProblem(error: ServiceError): string {
  const { operation, method, path, status, problem } = error;
  const { message, fields } = problem;
  const resource = operation === undeclaredOperation ? undefined : findNamedResource(path);
  const resourceName =
    resource && `${resource.noun} ${resource.id.length > maxIdLength ? `${resource.id.slice(0, 12)}…` : resource.id}`;
  if (fields.length > 1) return "The request is invalid";
  const subject = notFound.exec(message)?.slice(1).join("").trim().toLowerCase();
  // Another missing object is named as it is: "Object configuration not found."
  if (status === 404 && (subject === "" || subject === (resource?.noun ?? "").toLowerCase() || isStatus.test(message)))
    return resourceName === undefined || isOfOtherServer(error)
      ? `Not found: ${method} ${path}`
      : `${resourceName} not found`;
  if (isStatus.test(message)) return status >= 500 ? "The service failed" : "The service rejected the request";
  const move = resource && describeForbiddenMove(message, resource);
  if (move !== undefined) return move;
  const text = message.replace(/\.$/, "");
  const isUnnamed =
    isForbidden.test(message) || (status === 404 && resource !== undefined && !message.includes(resource.id));
  return resourceName !== undefined && isUnnamed ? `${resourceName}: ${text}` : text;
}

export const formatServiceError = (error: ServiceError): string =>
  `${error.outcomeUnknown ? "The outcome is unknown: " : ""}${describeProblem(error)} (HTTP ${error.status})`;
