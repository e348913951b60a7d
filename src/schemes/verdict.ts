/** What a check of a signature says: it holds, or the one reason why not. */
export type Verdict<Reason extends string> = { readonly ok: true } | { readonly ok: false; readonly reason: Reason };

export const validVerdict = { ok: true } as const;

export const createInvalidVerdict = <Reason extends string>(reason: Reason) => ({ ok: false, reason }) as const;
