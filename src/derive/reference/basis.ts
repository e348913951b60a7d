import type { Basis } from "../../api/basis.ts";

/** `specified`, `public`, or `assumed: <reason>`. */
export const basisWords = (basis: Basis): string => (typeof basis === "string" ? basis : `assumed: ${basis.assumed}`);
