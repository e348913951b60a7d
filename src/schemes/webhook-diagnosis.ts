import type { Diagnosis } from "./published.d.ts";
import {
  listAlgorithms,
  listBodyVariants,
  listKeyVariants,
  listSignatureVariants,
  type Variant,
} from "./webhook-mistakes.ts";
import { getDefaultScheme, type WebhookScheme } from "./webhook-schemes.ts";

export type { Diagnosis };

interface SignedDelivery {
  /** Signing key, exactly as read from the file or the environment variable. */
  readonly key: string;
  readonly body: Uint8Array;
  readonly signature: string;
  /** All headers of the delivery, with lower-case names, for a scheme that signs other headers. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/**
 * Finds the mistake that leads to a signature. It tries every common mistake with key, body, algorithm and encoding,
 * alone and combined, fewest mistakes first. The function is pure, and the body is in memory.
 */
export function diagnose(
  { key, body, signature, headers = {} }: SignedDelivery,
  { format }: WebhookScheme = getDefaultScheme(),
): Diagnosis {
  const digests = listSignatureVariants(signature, format);
  const algorithms = listAlgorithms(format, format.getSignedText?.(headers) ?? "");
  const bodies = listBodyVariants(body);
  const keys = listKeyVariants(key);
  const combinations = algorithms.flatMap((algorithm) =>
    keys.flatMap((key) => bodies.map((other) => [algorithm, key, other] as const)),
  );
  const byMistakes = combinations.sort((a, b) => countMistakes(a) - countMistakes(b));
  let tried = 0;
  for (const [algorithm, oneKey, oneBody] of byMistakes) {
    tried += 1;
    const digest = algorithm.value(oneKey.value, oneBody.value);
    const encoding = digests.find(({ value }) => value.equals(digest));
    if (!encoding) continue;
    const all = [oneKey, oneBody, algorithm, encoding].flatMap(({ deviations }) => deviations);
    return { explained: true, deviations: all, tried };
  }
  return { explained: false, deviations: [], tried };
}

const countMistakes = (variants: readonly Variant<unknown>[]): number =>
  variants.reduce((sum, { deviations }) => sum + deviations.length, 0);
