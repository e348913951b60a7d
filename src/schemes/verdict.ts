export type { Verdict } from "./published.d.ts";

export const validVerdict = { ok: true } as const;

export const createInvalidVerdict = <Reason extends string>(reason: Reason) => ({ ok: false, reason }) as const;

/**
 * Reports whether a signed request is recent enough. Future times are accepted, as in the verifiers of the connected
 * apps.
 */
export const isFresh = (signedAt: number, now: number, maxAge: number): boolean => now - signedAt <= maxAge;
