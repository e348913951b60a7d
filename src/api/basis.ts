/**
 * Evidence for a claim about the real service: the specification, public material of the service, or an assumption with
 * its reason, one sentence (DECISIONS.md).
 */
export type Basis = "specified" | "public" | { readonly assumed: string };

/** Basis of the control plane, which only the emulator has. */
export const controlPlaneBasis: Basis = { assumed: "The control plane is part of the emulator." };
