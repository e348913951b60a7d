import querystring from "node:querystring";

/** Fields of a query or a form: the decoded value, or all of them where a name is repeated. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Decodes `a=1&b=2` as Starlette does: `+` is a blank, empty values stay, invalid escapes stay literal, bad UTF-8
 * becomes U+FFFD.
 */
export const parseFields = (text: string): Fields =>
  querystring.parse(text, "&", "=", {
    maxKeys: 0,
    ...(/^\p{ASCII}*$/u.test(text) ? {} : keeping),
  }) as unknown as Fields;

/** Escapes are decoded, and other letters left as they are: an invalid escape must not change those. */
const keeping = {
  decodeURIComponent: (text: string) => text.replace(/\p{ASCII}+/gu, (escaped) => querystring.unescape(escaped)),
};

/** The fields of a form one by one, in the order of the wire: of an object, names that look like numbers come first. */
export const parseOrderedFields = (text: string): readonly (readonly [string, string])[] =>
  text.split("&").flatMap((field) => Object.entries(parseFields(field)) as [string, string][]);

/** The last value of each name, as a form model sees it. A null prototype keeps `__proto__` an ordinary name. */
export function lastValues(fields: Fields): Record<string, string | undefined> {
  const out: Record<string, string | undefined> = Object.create(null);
  for (const name of Object.keys(fields)) out[name] = lastOf(fields[name]);
  return out;
}

export const lastOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "object" ? value[value.length - 1] : value;
