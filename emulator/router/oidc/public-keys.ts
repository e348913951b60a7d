/** A JSON Web Key of some kind. */
type Jwk = { readonly kty: string } & Readonly<Record<string, unknown>>;

/** Members of private keys (RFC 7518, 6). Clients refuse a key set that holds one. */
const secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The public keys of several sets; the same key once, since two of one id are ambiguous to every client. */
export function publicKeys(keys: readonly unknown[]): Jwk[] {
  const found = new Map<string, Jwk>();
  for (const key of keys) {
    if (!isJwk(key) || key.kty === "oct") continue;
    const open = Object.fromEntries(Object.entries(key).filter(([name]) => !secret.includes(name)));
    const text = JSON.stringify(open);
    if (!found.has(text)) found.set(text, { ...open, kty: key.kty });
  }
  return [...found.values()];
}

const isJwk = (value: unknown): value is Jwk =>
  typeof value === "object" && value !== null && "kty" in value && typeof value.kty === "string";
