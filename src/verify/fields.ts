import { activities } from "../api/activities.ts";
import { failureCatalogue } from "../api/failures.ts";
import { registry, schemaNames, webhookPayloads } from "../api/registry.ts";
import { isSecretName } from "../api/secrets.ts";
import { buildSample } from "../derive/openapi/operations.ts";
import { buildOpenApi } from "../derive/openapi.ts";

/** Words of validation errors and of common framework error pages. */
const errorWords =
  "a about above access account action after again all allowed already an and any are as at available bad be been before " +
  "below between blank but by call can cannot character characters check choice closed could database date datetime day days " +
  "declared decode denied details did disabled do does done double duplicate each either email empty encountered ended enough " +
  "ensure enter error errors exactly exceeded exist exists expected expired expecting extra failed failure few field fields file " +
  "files float following for forbidden format found from gateway given greater has have header high hour hours https http id if in " +
  "incorrect inner input instead integer internal into invalid is it items json key kind large least length less limit line list " +
  "locked long longer malformed many match matched max maximum may media message method minimum minute minutes missing more most " +
  "must name near needed no non none not nothing null number object of off ok old on once one only open or other out over " +
  "page parameter parse parsing pattern payload permission permitted please present property provided providing query quotes range read " +
  "reason received refused rejected request required resource retry same second seconds server service session short should " +
  "side signed size some something sorry start state status still string submitted such supported syntax than that the their " +
  "then there this time timeout to token too try type unable unauthorized unavailable unexpected unique unknown unprocessable " +
  "unsupported until upload url use used user using valid validation value values was we were when where which while who will with within " +
  "without wrong yet you your zero content-type bearer basic oauth true false yes";

const wordPattern = /\p{L}+/gu;
let cachedVocabulary: ReturnType<typeof readVocabulary> | undefined;

/** Returns the words of the declarations, which are read once. They identify neither a person nor a company. */
export const getVocabulary = () => (cachedVocabulary ??= readVocabulary());

function readVocabulary() {
  const values = new Set<string>(activities);
  const texts: string[] = [errorWords];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) walk(item);
    if (Array.isArray(node) || typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "examples" || key === "example" || key === "description") continue;
      if (key === "enum" || key === "const")
        for (const item of [value].flat()) if (typeof item === "string") values.add(item);
      if (key === "properties") texts.push(...Object.keys(value as object));
      walk(value);
    }
  };
  for (const name of ["router", "contracts"] as const)
    walk(buildOpenApi(name, { registry, schemaNames, webhookPayloads }));
  for (const failure of Object.values(failureCatalogue)) {
    texts.push(failure.when, JSON.stringify(buildSample(failure)));
  }
  for (const { summary } of registry) texts.push(summary);
  const words = texts.join(" ").toLowerCase().replaceAll("_", " ").match(wordPattern) ?? [];
  const segments = registry.flatMap(({ path }) => path.split("/").filter((item) => !item.includes("{")));
  return {
    /** Values of enumerations in their original spelling. */
    values: values as ReadonlySet<string>,
    /** Words of field names, error strings and summaries, in lower case. */
    words: new Set(words) as ReadonlySet<string>,
    /** Literal segments of declared paths. */
    segments: new Set(segments) as ReadonlySet<string>,
  };
}

/** Location of a name: in JSON, in the JSON of an error, or in a URL, form or header. */
export type FieldLocation = "field" | "error" | "parameter";

export type PersonalKind = "date" | "phone" | "number" | "coordinate";

/** Names of values that are always secret, even if the value is a common word or has only three digits. */
const secretFieldPattern =
  /(?:^|_)(?:t?otp|pin|puk|cvv2?|cvc2?|passcode|passphrase|pass_?word|passwd|pwd|secret|answer|iban|ssn|(?:card|account)_number|(?:verification|verify|security|access|auth|authorization|confirmation|reset|recovery|backup|activation|login|one_?time|sms|mfa|2fa|two_factor|invite|invitation|unlock|pairing)_?codes?)(?:_?(?:code|number|value|confirm|confirmation|repeat|hash|\d))?$|^(?:pass|tan)$|password$|secret$/;

/** Names that are not always secret, such as the state of a country or an error code. */
const ambiguousFieldPattern = /^(?:state|code|key|auth|session|ticket)$/;
const nonSecretFieldPattern =
  /^(?:status|error|country|postal|zip|iso|language|currency|jurisdiction_iso|country_iso|dial|area)_?code$|^code[23]$/;
export const isoTimePattern = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
export const mediaTypePattern = /^(?:application|text|image|audio|video|multipart)\/[\w.+-]+(?:; ?[\w-]+=[\w."-]+)*$/;
/** Names of fields whose values are names of fields, types or conditions. */
const identifierFieldPattern =
  /^(?:variable|type|kind|field|loc|key_type|error|error_type|code|\w{1,60}_supported|alg|kty|use|crv|scope|grant_type|response_type|token_type)$/i;
const identifierPattern = /^[a-z][a-z0-9]*(?:[_.-][a-z0-9]{1,20})*$/i;

const personalFieldPatterns: readonly (readonly [PersonalKind, RegExp])[] = [
  ["date", /(?:^|_)(?:dob|birth|birth_?date|birth_?day|birth_?year|date_of_birth|born(?:_on|_at)?)$/],
  ["phone", /phone|mobile|msisdn|whatsapp|(?:^|_)(?:fax|tel|cell|num)(?:_?(?:number|no))?$/],
  ["number", /(?:^|_)(?:salary|income|wages?|compensation|net_worth)$/],
  ["coordinate", /(?:^|_)(?:lat|lng|lon|latitude|longitude)$/],
];

/** Normalizes a name such as `x-accessCode` to `access_code`. */
const normalizeName = (name: string): string =>
  name
    .trim()
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[\s.:-]/g, "_")
    .replace(/^x_/, "");

export const isSecretFieldName = (name: string): boolean => secretFieldPattern.test(normalizeName(name));

/** Reports whether the value of a field is the name of a field, a type or a condition. */
export const isIdentifier = (name: string, value: string): boolean =>
  identifierFieldPattern.test(name) && identifierPattern.test(value) && !isRandomLooking(value) && !/\d{4}/.test(value);

/** Reports whether the value of a field is a secret. */
export function isSecretValue(name: string, value: string, position: FieldLocation): boolean {
  if (value === "" || /^(?:true|false|null)$/.test(value)) return false;
  const plain = normalizeName(name);
  if (secretFieldPattern.test(plain)) return true;
  if (nonSecretFieldPattern.test(plain) || !isSecretName(plain)) return false;
  const isDeclared = getVocabulary().values.has(value) || /^[A-Z]{2,3}$/.test(value);
  if (isDeclared || isoTimePattern.test(value) || mediaTypePattern.test(value)) return false;
  if (plain === "code" && position !== "error") return true;
  if (isIdentifier(name, value)) return false;
  return (
    !ambiguousFieldPattern.test(plain) ||
    (isRandomLooking(value) && !/\s/.test(value)) ||
    /^(?=.*\d)[\w-]{6,}$/.test(value)
  );
}

/** Reports whether a text describes the field instead of being its value: `Invalid password: it is too short`. */
export function isSentence(name: string, text: string): boolean {
  const words = text.match(/\p{L}+/gu) ?? [];
  const { words: known } = getVocabulary();
  return (
    words.length > (isSecretFieldName(name) ? 1 : 0) &&
    !/\d/.test(text) &&
    words.every((word) => known.has(word.toLowerCase()))
  );
}

/** Finds the kind of personal data in the value of a field. Returns undefined if there is none. */
export function findPersonalKind(name: string, value: string): PersonalKind | undefined {
  const plain = normalizeName(name);
  const kind = personalFieldPatterns.find(([, pattern]) => pattern.test(plain))?.[0];
  const digits = value.replace(/\D/g, "").length;
  if (kind === undefined || digits === 0) return undefined;
  if (kind === "phone") return digits >= (/num$/.test(plain) ? 7 : 3) ? kind : undefined;
  // A sentence about the field is not its value.
  return kind === "date" || !/\p{L}{4}/u.test(value) ? kind : undefined;
}

export function isRandomLooking(text: string): boolean {
  if (text.length < 16 || /^[a-z]+(?:[_.-][a-z]+)*$/.test(text) || /^[A-Z]+(?:_[A-Z]+)*$/.test(text)) return false;
  if (/^[0-9a-f]{16,}$/i.test(text)) return /\d/.test(text);
  // Words and paths rarely change their kind of character. Random strings change it at every third position.
  const kinds = [...text].map((char) =>
    /[a-z]/.test(char) ? "a" : /[A-Z]/.test(char) ? "A" : /\d/.test(char) ? "0" : "-",
  );
  const changes = kinds.filter((kind, at) => at > 0 && kind !== kinds[at - 1]).length;
  return changes / text.length > 0.25 && new Set(text.toLowerCase()).size >= 8;
}

/**
 * Replaces values that follow their name in a string: `name: rest of the line`, `name=value`, `name="value"`. If `edit`
 * returns undefined, the value stays and its inner fields are replaced.
 */
export function editFields(
  text: string,
  edit: (name: string, value: string, place: FieldLocation) => string | undefined,
): string {
  const sign = /[:=]/g;
  let out = "";
  let at = 0;
  for (let found = sign.exec(text); found; found = sign.exec(text)) {
    const name = findNameBefore(text.slice(Math.max(at, found.index - 80), found.index));
    if (name === undefined) continue;
    const after = /[^ \t]|$/.exec(text.slice(sign.lastIndex, sign.lastIndex + 8))?.index ?? 0;
    const quote = /^["']/.exec(text.slice(sign.lastIndex + after))?.[0] ?? "";
    const start = sign.lastIndex + after + quote.length;
    const isPair = found[0] === "=";
    const end = quote !== "" ? (quote === '"' ? /"/ : /'/) : isPair ? /[\s&"'<>#;,)]/ : /[\r\n<>"]/;
    const rest = text.slice(start, start + maxValueLength);
    const length = rest.search(end);
    const value = length < 0 ? rest : rest.slice(0, length);
    const replacement = value === "" ? undefined : edit(name, value, isPair ? "parameter" : "error");
    if (replacement === undefined) continue;
    out += text.slice(at, start) + replacement;
    at = start + value.length;
    sign.lastIndex = at;
  }
  return out + text.slice(at);
}

const maxValueLength = 4_000;

/** Finds a name of at most two words, such as `verification code`. */
function findNameBefore(text: string): string | undefined {
  const name = text
    .trimEnd()
    .replace(/["']$/, "")
    .split(/[^\w.%[\] -]/)
    .at(-1)!
    .trim()
    .split(" ")
    .slice(-2)
    .join(" ")
    .replace(/^-+ ?/, "");
  return /^[A-Za-z]/.test(name) ? name : undefined;
}

/** Edits the parts of HTML or XML. */
interface MarkupEdits {
  /** Edits the text of an element without child elements. */
  readonly editElement: (name: string, text: string) => string;
  readonly editAttribute: (name: string, value: string) => string;
  readonly editText: (text: string) => string;
}

const markupPattern =
  /<(?<name>[A-Za-z_][\w.:-]{0,80})(?<attributes>(?:\s+[\w.:-]{1,80}(?:=(?:"[^"<>]{0,4000}"|'[^'<>]{0,4000}'|[^\s"'<>=]{1,4000}))?){0,200}\s*)>(?:<!\[CDATA\[(?<section>[\s\S]{0,10000}?)\]\]>|(?<content>[^<>]*))(?<end><\/\k<name>\s{0,9}>)|(?<tag><!\[CDATA\[|<!(?:DOCTYPE|doctype)[^<>@]*>|<[/?]?[A-Za-z_][\w.:-]{0,80}(?:\s+[\w.:-]{1,80}(?:=(?:"[^"<>]{0,4000}"|'[^'<>]{0,4000}'|[^\s"'<>=]{1,4000}))?){0,200}\s*[/?]?>)|(?<between>[^<>]+)/g;

/** Replaces texts and attribute values. Preserves tags. Comments, and brackets that are no tags, are texts. */
export const editMarkup = (text: string, edits: MarkupEdits): string =>
  text.replace(markupPattern, (...found) => {
    const parts: Readonly<Record<string, string | undefined>> = found.at(-1);
    const { name, attributes = "", section, content = "", end, tag, between } = parts;
    if (between !== undefined) return edits.editText(between);
    if (name === undefined) return editAttributes(tag!, edits);
    const replacement = edits.editElement(name.replace(/^.*:/, ""), section ?? content);
    const shown = section === undefined ? replacement : `<![CDATA[${replacement}]]>`;
    return `<${name}${editAttributes(attributes, edits)}>${shown}${end}`;
  });

/** Edits attributes. The field of the value in `<input name="pin" value="4711">` is the name of the input. */
function editAttributes(tag: string, { editAttribute }: MarkupEdits): string {
  const field = /(?<![\w-])name=["']?([^"'\s>]{1,80})/.exec(tag)?.[1];
  return tag.replace(
    /(?<![\w:.-])([\w:.-]+)=(?:"([^"]{0,4000})"|'([^']{0,4000})'|([^\s"'<>=]+))/g,
    (_, name: string, double?: string, single?: string, plain?: string) => {
      const of = /^(?:value|content)$/.test(name) && field !== undefined ? field : name.replace(/^.*:/, "");
      const quote = double !== undefined ? '"' : single !== undefined ? "'" : "";
      return `${name}=${quote}${editAttribute(of, double ?? single ?? plain ?? "")}${quote}`;
    },
  );
}
