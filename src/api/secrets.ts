/**
 * Names of parameters, fields and headers that contain secrets, in lower case with underscores. The list covers all
 * declarations and their standards (OAuth 2.0, OpenID Connect, S3 signatures). test/api/secrets.test.ts compares it
 * with the declarations.
 */
const secretNames: ReadonlySet<string> = new Set([
  "access_token",
  "assertion",
  "auth",
  "authorization",
  "captcha",
  "client_assertion",
  "client_secret",
  "code",
  "code_verifier",
  "cookie",
  "device_code",
  "id_token_hint",
  "jwt",
  "key",
  "otp",
  "pin",
  "refresh_token",
  "saml_response",
  "session",
  "session_state",
  "sid",
  "sig",
  "signed_request",
  "state",
  "ticket",
  "token",
  "user_code",
]);

/** Endings of undeclared names that indicate a secret, such as `creator_token`, `X-Amz-Signature` and `api-key`. */
const secretEnds =
  /(?:token|tokens|secret|secrets|signature|password|passwd|passphrase|credential|credentials|_key|apikey|_code|_codes|_jwt)$/;

/** Names that match these endings but are not secret. */
export const nonSecretNames: ReadonlySet<string> = new Set(["country_iso_code", "jurisdiction_iso_code", "object_key"]);

/** Literal segments of declared paths that precede a secret, with the name of that parameter. */
export const secretPathPrefixes: ReadonlyMap<string, string> = new Map([
  ["by_token", "token"],
  ["device-grants", "user_code"],
]);

/** Reports whether a name belongs to a secret. Encoded names and names of nested fields (`a[token]`) are recognized. */
export function isSecretName(encodedName: string): boolean {
  const name = decodeUrlText(encodedName)
    .replace(/\[\d*\]/g, "")
    .replace(/\]$/, "")
    .split(/[.[]/)
    .at(-1)!
    .trim()
    .toLowerCase()
    .replaceAll("-", "_");
  return secretNames.has(name) || (secretEnds.test(name) && !nonSecretNames.has(name));
}

/** A secret can be encoded twice. Three times is not supported. */
const decodings = 3;

/** Decodes percent escapes and plus signs. Invalid escapes stay unchanged. */
export function decodeUrlText(text: string): string {
  let now = text.replaceAll("+", " ");
  for (let i = 0; i < decodings && now.includes("%"); i += 1) {
    now = now.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return now;
}

export const defaultMask = "[redacted]";

/**
 * Returns a URL or request target without the secrets in its query, fragment, path and credentials, and in URLs within
 * its parameters. `allParameters` hides the values of all parameters. All other bytes are unchanged.
 */
export function redactUrl(url: string, { mask = defaultMask, allParameters = false } = {}): string {
  // Most URLs contain no secret, and this function runs for every recorded request.
  if (!/[?#=@%]|by_token|device-grants/i.test(url)) return url;
  const [, path = "", query = "", fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  const isHidden = (name: string, value: string) =>
    allParameters || isSecretName(name) || (value.includes("%") && holdsSecret(decodeUrlText(value)));
  return redactPath(path, mask) + redactPairs(query, mask, isHidden) + redactPairs(fragment, mask, isHidden);
}

/** Redacts the values in `?name=value&name=value`, with any separators. */
function redactPairs(text: string, mask: string, isHidden: (name: string, value: string) => boolean): string {
  return text
    .split(/([?#&;])/)
    .map((pair) => {
      const equals = pair.indexOf("=");
      if (equals < 1 || equals === pair.length - 1) return pair;
      const name = pair.slice(0, equals);
      return isHidden(name, pair.slice(equals + 1)) ? `${name}=${mask}` : pair;
    })
    .join("");
}

const holdsSecret = (text: string): boolean => /[/?&#=]/.test(text) && redactText(redactUrl(text)) !== text;

/**
 * Redacts the secret segments of a path, such as `/invite/by_token/[redacted]`. Encoded slashes count, because the
 * router decodes them.
 */
function redactPath(path: string, mask: string): string {
  const parts = path.replace(/\/\/[^/@]*@/, `//${mask}@`).split(/(\/|%(?:25)*2f)/i);
  let isSecret = false;
  return parts
    .map((part, i) => {
      if (i % 2 === 1 || part === "") return part;
      const hides = isSecret;
      isSecret = secretPathPrefixes.has(decodeUrlText(part).toLowerCase());
      if (hides) return mask;
      return part.includes("=") ? redactPairs(part, mask, isSecretName) : part;
    })
    .join("");
}

/**
 * Matches `Bearer s3cr3t` and `basic dTpw`, but not prose about the schemes, such as `a bearer token.` or `basic
 * credentials`. Any word that is not plain prose counts as a credential.
 */
const credentials =
  /\b(bearer|basic)(\s{1,4})(?!(?:tokens?|credentials?|schemes?|auth|authentication|authorization)\.?(?![\w.~+/=-]))[\w.~+/=-]{6,}/gi;

/** Redacts credentials, also those of URLs, values of secret names and secret path segments anywhere in a string. */
export function redactText(text: string, { mask = defaultMask } = {}): string {
  const plain = text
    .replace(credentials, `$1$2${mask}`)
    .replace(/:\/\/(?!user:password@)[^\s/?#@"'<>`:]{1,256}:[^\s/?#@"'<>`]{1,256}@/g, `://${mask}@`)
    .replace(/(by_token|device-grants)((?:\/|%(?:25)*2f){1,4})[^\s/?#&"'<>`,;)]+/gi, `$1$2${mask}`)
    .replace(/(?<![\w%[\].-])([\w%[\].-]+)=([^\s&;"'<>,`)]+)/g, (pair, name: string) =>
      isSecretName(name) ? `${name}=${mask}` : pair,
    );
  return redactQuoted(plain, mask);
}

/** Codes of failures, such as `not_found` and `SVC_ASSUMED_114`. A random code of 128 bits is longer or has digits. */
const failureCode = /^(?:[a-z]{1,16}(?:_[a-z]{1,16})*|[A-Z]{1,16}(?:_[A-Z]{1,16})*_\d{1,4})$/;

/** Redacts quoted values such as `"token": "[redacted]"`, also in JSON within a JSON string. */
function redactQuoted(text: string, mask: string): string {
  const name = /(\\{0,3}["'])([\w.-]{1,64})\1\s{0,4}:\s{0,4}(\\{0,3}["'])/g;
  let redacted = "";
  let at = 0;
  for (let found = name.exec(text); found; found = name.exec(text)) {
    if (!isSecretName(found[2]!)) continue;
    const end = endOfQuoted(text, name.lastIndex, found[3]!);
    if (found[2] === "code" && failureCode.test(text.slice(name.lastIndex, end))) continue;
    redacted += text.slice(at, name.lastIndex) + mask;
    at = end;
    name.lastIndex = end;
  }
  return redacted + text.slice(at);
}

/** Returns the position of the closing quote, or the end of the string. */
function endOfQuoted(text: string, from: number, quote: string): number {
  for (let i = from; i < text.length; i += 1) {
    if (text.startsWith(quote, i)) return i;
    if (text[i] === "\\") i += 1;
  }
  return text.length;
}

/** Returns the decoded values of a URL whose names are those of secrets. */
export function findSecretsInUrl(url: string, isSecret = isSecretName): string[] {
  const [path = "", ...queries] = url.split(/[?#]/);
  const segments = path.split(/\/|%2f/i).map(decodeUrlText);
  const inPath = segments.filter((_, i) => {
    const name = secretPathPrefixes.get(segments[i - 1]?.toLowerCase() ?? "");
    return name !== undefined && isSecret(name);
  });
  const pairs = queries.flatMap((query) => [...new URLSearchParams(query)]);
  return [...inPath, ...pairs.filter(([name]) => isSecret(name)).map(([, value]) => value)];
}
