import type { Basis } from "../../api/basis.ts";
import { pluralize } from "../../base/pluralize.ts";
import type { ObservedClaim } from "../observed.ts";

/** `specified`, `public`, or `assumed: <reason>`; of what was observed: how often, when last, and what differed. */
export function basisWords(basis: Basis, seen?: ObservedClaim): string {
  if (!seen) return typeof basis === "string" ? basis : `assumed: ${basis.assumed}`;
  const differs = seen.differs.length === 0 ? "" : `; differs: ${seen.differs.join(", ")}`;
  return `observed ${pluralize(seen.count, "time")}, last at ${seen.at}${differs}`;
}
