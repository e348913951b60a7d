/**
 * How we know that the real service behaves so: the specification says it, public material of the service says it,
 * or we assume it, for the reason given (DECISIONS.md).
 */
export type Basis = "specified" | "public" | { readonly assumed: string };

/** A guess, with the one sentence that says why it is the best one. */
export const assumed = (reason: string): Basis => ({ assumed: reason });

/** Of the control plane, which only the emulator has. */
export const controlPlaneBasis = assumed("The control plane is part of the emulator.");
