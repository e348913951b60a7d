import type { FlagSpec } from "../../../derive/command-spec.ts";

/** Names an account by its server; without it the routing service of the target is meant. */
export const issuerFlag = {
  flag: "issuer",
  type: "text",
  placeholder: "URL",
  description: "Another OAuth server than the routing service: its issuer, as in its metadata",
} as const satisfies FlagSpec;
