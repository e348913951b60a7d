/**
 * Evidence for a claim about the real service: the specification, public material of the service, or an assumption with
 * its reason (DECISIONS.md).
 */
export type Basis = "specified" | "public" | { readonly assumed: string };

/** Creates an assumption from its reason, one sentence. */
export const createAssumption = (reason: string): Basis => ({ assumed: reason });

/** Basis of the control plane, which only the emulator has. */
export const controlPlaneBasis = createAssumption("The control plane is part of the emulator.");
