import querystring from "node:querystring";
import { hasTooManyParts } from "./weight.ts";

/** Fields of a query or a form: the decoded value, or all of them where a name is repeated. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Decodes `a=1&b=2` as Starlette does: `+` is a blank, empty values stay, invalid escapes stay literal, bad UTF-8
 * becomes U+FFFD.
 */
export const parseFields = (text: string): Fields =>
  querystring.parse(text, "&", "=", { maxKeys: 0 }) as unknown as Fields;

/** The last value of each name, as a form model sees it. A null prototype keeps `__proto__` an ordinary name. */
export function lastValues(fields: Fields): Record<string, string | undefined> {
  const out: Record<string, string | undefined> = Object.create(null);
  for (const name of Object.keys(fields)) out[name] = lastOf(fields[name]);
  return out;
}

export const lastOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "object" ? value[value.length - 1] : value;

/** A multipart body without a boundary cannot be taken apart. */
export class MissingBoundary extends Error {
  override readonly name = "MissingBoundary";
}

/** A multipart body of more parts than Starlette reads. */
export class TooManyParts extends Error {
  override readonly name = "TooManyParts";
}

/** The text fields of a `multipart/form-data` body; files are left out. Fails with MissingBoundary or TooManyParts. */
export async function parseMultipart(body: Buffer, contentType: string): Promise<Record<string, string | undefined>> {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw new MissingBoundary("no boundary");
  if (hasTooManyParts(body, boundary)) throw new TooManyParts("too many parts");
  const parts = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  const out: Record<string, string | undefined> = Object.create(null);
  for (const [name, value] of parts) if (typeof value === "string") out[name] = value;
  return out;
}
