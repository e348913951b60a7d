/**
 * How sure a claim about the real service is: it is in the specification, in public material of the service, or assumed
 * for a given reason (DECISIONS.md).
 */
export type Basis = "specified" | "public" | { readonly assumed: string };

/** An assumption, with the reason for it in one sentence. */
export const assumed = (reason: string): Basis => ({ assumed: reason });

/** For the control plane, which only the emulator has. */
export const controlPlaneBasis = assumed("The control plane is part of the emulator.");
