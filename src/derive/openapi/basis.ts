import type { Basis } from "../../api/basis.ts";
import type { Json } from "./schemas.ts";

/** How we know, as extensions, so that a reader knows what the emulator merely guesses. */
export const basisOf = (basis: Basis): Json =>
  typeof basis === "string" ? { "x-basis": basis } : { "x-basis": "assumed", "x-basis-reason": basis.assumed };
