import { defaultMask, findSecretsInUrl, isSecretName, redactText, redactUrl } from "../../api/secrets.ts";
import { isExactNumber } from "../../base/json.ts";
import { isObject, memoize, tryParseJson } from "../../base/object.ts";
import { decodeLocation } from "../../base/urls.ts";
import type { HttpRequest } from "../../client/request.ts";
import type { Host } from "./host.ts";

/** Headers whose values are shown. All others are masked (DECISIONS.md, L15). */
const shownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "cache-control", "connection", "content-length", "content-type", "date"],
  ...["keep-alive", "location", "retry-after", "transfer-encoding", "user-agent", "via"],
  ...["x-content-type-options", "x-request-id", "x-svc-matched", "x-svc-moved", "x-svc-nearest", "x-svc-time"],
]);

/** Body fields whose values are shown: IDs, names of states and kinds, times. */
const shownFields =
  /^(id|.*_id|composite_id|status|state|kind|mode|speed|type|priority|activity|outcome|number|total|database|expires_at|expires_in|interval|method|path|attempt.*|at|due|now|.*_at)$/;

export const secretMask = "[hidden]";

export function redactHeader(name: string, value: string): string {
  if (!shownHeaders.has(name.toLowerCase())) return secretMask;
  if (name.toLowerCase() === "location") return redactUrlValues(decodeLocation(value));
  return redactText(value, { mask: secretMask });
}

/** Masks possible credentials in a URL: the secrets of its path and all values of its query. */
export const redactUrlValues = (url: string): string => redactUrl(url, { mask: "…", allParameters: true });

export const maskUrlSecrets = (url: string): string => redactUrl(url, { mask: secretMask });

export function maskBodySecrets(value: unknown, name = ""): unknown {
  if (typeof value === "string") return isSecretField(name) ? secretMask : redactText(value, { mask: secretMask });
  if (Array.isArray(value)) return value.map((item) => maskBodySecrets(item, name));
  if (!isObject(value) || isExactNumber(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskBodySecrets(inner, key)]));
}

/** The exceptions are secrets in a log, but ordinary words for the user who typed them. */
export const isSecretField = (name: string): boolean =>
  isSecretName(name) && !["captcha", "state", "user_code"].includes(name);

/** Masks everything in a JSON body except harmless values, such as IDs, states and times. */
export function redactBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactBody);
  if (typeof value !== "object" || value === null) return typeof value === "string" ? secretMask : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (typeof inner === "object" && inner !== null) return [name, redactBody(inner)];
      if (typeof inner === "boolean" || inner === null) return [name, inner];
      return [name, shownFields.test(name) && !isSecretName(name) ? inner : secretMask];
    }),
  );
}

const maxRecentValues = 50;
/** Longer bodies are files and jobs, which services do not echo. */
const maxBodyLength = 64 * 1024;
/** Shorter values are part of ordinary words. */
export const minSecretLength = 6;

type SentRequest = Pick<HttpRequest, "url" | "headers" | "body">;

/** Sent requests by run. Each run has its own host. */
const getSentRequests = memoize((_host: Host): SentRequest[] => []);

export function rememberSentSecrets(host: Host, request: SentRequest): void {
  const sentRequests = getSentRequests(host);
  sentRequests.push(request);
  if (sentRequests.length > maxRecentValues) sentRequests.shift();
}

/** Masks all secrets that this run has sent, because services and receivers echo rejected values. */
export const redactSentSecrets = (host: Host, text: string): string => createSentSecretRedactor(host)(text);

export function createSentSecretRedactor(host: Host): (text: string) => string {
  const secrets = getSentRequests(host)
    .flatMap(findSecrets)
    .filter((secret) => secret.length >= minSecretLength);
  // The text can be JSON, in which quotes are escaped.
  const forms = new Set(secrets.flatMap((secret) => [JSON.stringify(secret).slice(1, -1), secret]));
  return (text) => [...forms].reduce((redacted, form) => redacted.replaceAll(form, secretMask), text);
}

/** Headers with credentials. An emulator's address can appear as a credential in other headers. */
const credentialHeaders = ["authorization", "client-secret", "x-cluster-key", "cookie", "proxy-authorization"];

function findSecrets({ url, headers, body }: SentRequest): string[] {
  const values = credentialHeaders.flatMap((name) => headers[name] ?? []);
  const credentials = values.map((value) => value.replace(/^(?:bearer|basic) /i, ""));
  const [, pair = ""] = /^basic (.+)$/i.exec(headers.authorization ?? "") ?? [];
  const password = Buffer.from(pair, "base64")
    .toString()
    .replace(/^[^:]*:/, "");
  return [...credentials, password, ...findSecretsInUrl(url, isSecretField), ...findSecretsInBody(body)];
}

function findSecretsInBody(body: SentRequest["body"]): string[] {
  if (typeof body !== "string" || body.length > maxBodyLength) return [];
  const document = tryParseJson(body);
  return document === undefined ? findSecretsInUrl(`?${body}`, isSecretField) : findSecretsInValue("", document);
}

function findSecretsInValue(name: string, value: unknown, isSecret = isSecretField): string[] {
  if (typeof value === "string") return isSecret(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => findSecretsInValue(isList ? name : key, inner, isSecret));
}

/** Finds the secrets of a successful response. Its codes are those of network failures, its keys those of rows. */
export const findReturnedSecrets = (value: unknown): string[] =>
  findSecretsInValue("", value, (name) => isSecretField(name) && name !== "code" && name !== "key").filter(
    (secret) => secret.length >= minSecretLength && secret !== defaultMask,
  );
