import { checkPrime, generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import * as z from "zod";
import { createSeededIds } from "../../../src/base/ids.ts";
import { defineRows } from "../../store/port.ts";
import type { ClusterContext } from "../context.ts";

const base64url = z.string().regex(/^[\w-]+$/);

/** An RSA key in the format of RFC 7517. */
const PrivateJwk = z.strictObject({
  kty: z.literal("RSA"),
  n: base64url,
  e: base64url,
  d: base64url,
  p: base64url,
  q: base64url,
  dp: base64url,
  dq: base64url,
  qi: base64url,
});
export type PrivateJwk = z.infer<typeof PrivateJwk>;

/** The key with which a cluster signs its tokens. It is created once and stored (DECISIONS.md, R35). */
export const SigningKey = z.strictObject({ cluster_id: z.string(), jwk: PrivateJwk });

export const signingKeys = defineRows({ name: "signing_keys", schema: SigningKey, key: (row) => row.cluster_id });

/**
 * The key is created on first use, because that takes longer than starting an emulator. With --deterministic it is
 * derived from the cluster's key, which is derived from the seed.
 */
export async function getSigningKey({
  store,
  cluster,
  settings,
}: Pick<ClusterContext, "store" | "cluster" | "settings">): Promise<PrivateJwk> {
  const storedKey = store.get(signingKeys, cluster.id);
  if (storedKey) return storedKey.jwk;
  const jwk = await createPrivateJwk(settings.deterministic ? `${cluster.id}\0${cluster.key}` : undefined);
  return store.transaction("make a signing key", (tx) => {
    // Concurrent requests can each create a key. The first stored key is used.
    const storedRow = tx.get(signingKeys, cluster.id);
    if (storedRow) return storedRow.jwk;
    tx.put(signingKeys, { cluster_id: cluster.id, jwk });
    return jwk;
  });
}

/** The same seed gives the same key. Without a seed, the key is random. */
export async function createPrivateJwk(seed: string | undefined): Promise<PrivateJwk> {
  if (seed !== undefined) return deriveSeededJwk(seed);
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return PrivateJwk.parse(privateKey.export({ format: "jwk" }));
}

const publicExponent = 65_537n;
const primeBytes = 128;

/** Derives a key from a seed. node:crypto only generates random keys. */
async function deriveSeededJwk(seed: string): Promise<PrivateJwk> {
  const ids = createSeededIds(seed);
  const firstPrime = await findNextPrime(ids.bytes(primeBytes));
  const secondPrime = await findNextPrime(ids.bytes(primeBytes));
  const [p, q] = firstPrime > secondPrime ? [firstPrime, secondPrime] : [secondPrime, firstPrime];
  const d = invertModulo(publicExponent, (p - 1n) * (q - 1n));
  return {
    kty: "RSA",
    n: encodeBigInt(p * q),
    e: encodeBigInt(publicExponent),
    d: encodeBigInt(d),
    p: encodeBigInt(p),
    q: encodeBigInt(q),
    dp: encodeBigInt(d % (p - 1n)),
    dq: encodeBigInt(d % (q - 1n)),
    qi: encodeBigInt(invertModulo(q, p)),
  };
}

/** Both top bits are set, so the product of two such primes has 2048 bits. */
async function findNextPrime(random: Buffer): Promise<bigint> {
  random[0]! |= 0xc0;
  random[primeBytes - 1]! |= 1;
  const start = BigInt(`0x${random.toString("hex")}`);
  const smallPrimes = listPrimesBelow(1_000);
  const remainders = smallPrimes.map((prime) => Number(start % BigInt(prime)));
  for (let offset = 0; ; offset += 2) {
    // Five of six candidates are multiples of a small prime. This check avoids a full primality test for them.
    if (smallPrimes.some((prime, i) => (remainders[i]! + offset) % prime === 0)) continue;
    const candidate = start + BigInt(offset);
    if (candidate % publicExponent !== 1n && (await promisify(checkPrime)(candidate))) return candidate;
  }
}

function listPrimesBelow(end: number): number[] {
  const primes: number[] = [];
  for (let n = 3; n < end; n += 2) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

/** Uses Euclid's algorithm. */
function invertModulo(a: bigint, m: bigint): bigint {
  let [r, next] = [m, a % m];
  let [t, nextT] = [0n, 1n];
  while (next !== 0n) {
    const quotient = r / next;
    [r, next] = [next, r - quotient * next];
    [t, nextT] = [nextT, t - quotient * nextT];
  }
  return t < 0n ? t + m : t;
}

function encodeBigInt(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
}
