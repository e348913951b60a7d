import type { FlagSpec } from "../../../derive/command-spec.ts";

/** Names an account by its server; without it the routing service of the target is meant. */
export const issuerFlag = {
  flag: "issuer",
  type: "text",
  placeholder: "URL",
  description: "OAuth issuer, if it is not the routing service",
} as const satisfies FlagSpec;
