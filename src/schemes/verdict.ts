export type { Verdict } from "./published.d.ts";

export const validVerdict = { ok: true } as const;

export const createInvalidVerdict = <Reason extends string>(reason: Reason) => ({ ok: false, reason }) as const;
