/** Headers whose values may be shown; all others are masked (cli-conventions.md, 43). */
const shownHeaders: ReadonlySet<string> = new Set([
  "accept",
  "content-length",
  "content-type",
  "date",
  "location",
  "retry-after",
  "user-agent",
  "via",
  "x-request-id",
  "x-svc-matched",
  "x-svc-moved",
  "x-svc-nearest",
  "x-svc-time",
]);

/** Fields of bodies whose values may be shown: ids, names of states and kinds, times. */
const shownFields =
  /^(id|.*_id|composite_id|status|state|kind|mode|speed|type|priority|activity|outcome|number|total|database|expires_at|expires_in|interval|method|path|attempt.*|at|due|now|.*_at)$/;
const hiddenFields = /secret|token|code|key|password|captcha|signature|authorization/;

const mask = "[hidden]";

/** A header as it may appear in a log. */
export const shownHeader = (name: string, value: string): string =>
  shownHeaders.has(name.toLowerCase()) ? value : mask;

/** A URL without the values of its query, which may be credentials: signed URLs, states, codes. */
export function shownUrl(text: string): string {
  const url = new URL(text);
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, "…");
  return decodeURI(url.href).replaceAll(/%E2%80%A6/gi, "…");
}

/** A JSON body with everything masked but what is known to be harmless. */
export function shownBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownBody);
  if (typeof value !== "object" || value === null) return typeof value === "string" ? mask : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (typeof inner === "object" && inner !== null) return [name, shownBody(inner)];
      if (typeof inner === "boolean" || inner === null) return [name, inner];
      return [name, shownFields.test(name) && !hiddenFields.test(name) ? inner : mask];
    }),
  );
}
