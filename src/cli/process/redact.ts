import { findSecretsInUrl, isSecretName, redactText, redactUrl } from "../../api/secrets.ts";
import type { HttpRequest } from "../../client/request.ts";
import type { Host } from "./host.ts";

/** Headers whose values may be shown; all others are masked (DECISIONS.md, L15). */
const shownHeaders: ReadonlySet<string> = new Set([
  "accept",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "location",
  "retry-after",
  "transfer-encoding",
  "user-agent",
  "via",
  "x-content-type-options",
  "x-request-id",
  "x-svc-matched",
  "x-svc-moved",
  "x-svc-nearest",
  "x-svc-time",
]);

/** Fields of bodies whose values may be shown: ids, names of states and kinds, times. */
const shownFields =
  /^(id|.*_id|composite_id|status|state|kind|mode|speed|type|priority|activity|outcome|number|total|database|expires_at|expires_in|interval|method|path|attempt.*|at|due|now|.*_at)$/;

/** Stands for what must not be printed. */
export const mask = "[hidden]";

/** A header as it may appear in a log. */
export function redactHeader(name: string, value: string): string {
  if (!shownHeaders.has(name.toLowerCase())) return mask;
  return name.toLowerCase() === "location" ? redactUrlValues(value) : redactText(value, { mask });
}

/** A URL without what may be credentials: the secrets of its path, and the values of its query, whatever their names. */
export const redactUrlValues = (url: string): string => redactUrl(url, { mask: "…", allParameters: true });

/** A URL of the caller, without the secrets of its path and its query. */
export const maskUrlSecrets = (url: string): string => redactUrl(url, { mask });

/** A body of the caller, without the values that go by the name of a secret. */
export function maskBodySecrets(value: unknown, name = ""): unknown {
  if (typeof value === "string") return isSecretField(name) ? mask : redactText(value, { mask });
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => maskBodySecrets(one, name));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskBodySecrets(inner, key)]));
}

/** Secrets to a log, and words to the person who typed them. */
const isOrdinary = (name: string): boolean => /^(?:captcha|state|user_code)$/.test(name);

/** Whether a field of a body that a person wrote holds a secret. */
export const isSecretField = (name: string): boolean => isSecretName(name) && !isOrdinary(name);

/** A JSON body with everything masked except harmless values. */
export function redactBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactBody);
  if (typeof value !== "object" || value === null) return typeof value === "string" ? mask : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (typeof inner === "object" && inner !== null) return [name, redactBody(inner)];
      if (typeof inner === "boolean" || inner === null) return [name, inner];
      return [name, shownFields.test(name) && !isSecretName(name) ? inner : mask];
    }),
  );
}

/** Values that a service echoes in its response were sent shortly before. */
const remembered = 50;
/** Longer bodies are files and jobs; nothing echoes them. */
const maxBodyLength = 64 * 1024;
/** Shorter ones are part of ordinary words. */
const shortestSecret = 6;

type SentRequest = Pick<HttpRequest, "url" | "headers" | "body">;

/** By run: each has a host of its own. */
const requests = new WeakMap<Host, SentRequest[]>();

/** Remembers a request, so that its secrets can be masked in later output. */
export function rememberSentSecrets(host: Host, request: SentRequest): void {
  const sent = requests.get(host) ?? [];
  requests.set(host, sent);
  sent.push(request);
  if (sent.length > remembered) sent.shift();
}

/** The text without any secret that this run has sent: services and receivers echo what they reject. */
export function redactSentSecrets(host: Host, text: string): string {
  const sent = requests.get(host);
  if (!sent) return text;
  const secrets = new Set(sent.flatMap(findSecrets).filter((secret) => secret.length >= shortestSecret));
  return [...secrets].reduce((shown, secret) => shown.replaceAll(secret, "[hidden]"), text);
}

/** A few headers, and only those of credentials: an address of the emulator may be a credential nowhere. */
const credentialHeaders = ["authorization", "client-secret", "x-cluster-key", "cookie", "proxy-authorization"];

function findSecrets({ url, headers, body }: SentRequest): string[] {
  const given = credentialHeaders.flatMap((name) => headers[name] ?? []);
  const credentials = given.map((value) => value.replace(/^(?:bearer|basic) /i, ""));
  const password = /^basic (.+)$/i.exec(headers.authorization ?? "")?.[1];
  const pair =
    password === undefined
      ? []
      : [
          Buffer.from(password, "base64")
            .toString()
            .replace(/^[^:]*:/, ""),
        ];
  return [...credentials, ...pair, ...findSecretsInUrl(url), ...findSecretsInBody(body)];
}

function findSecretsInBody(body: SentRequest["body"]): string[] {
  if (typeof body !== "string" || body.length > maxBodyLength) return [];
  try {
    return findSecretsInValue("", JSON.parse(body));
  } catch {
    return findSecretsInUrl(`?${body}`);
  }
}

function findSecretsInValue(name: string, value: unknown): string[] {
  if (typeof value === "string") return isSecretField(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => findSecretsInValue(isList ? name : key, inner));
}
