import { isSecretName, redactText, redactUrl } from "../../api/secrets.ts";

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

/** A JSON body with everything masked but what is known to be harmless. */
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
