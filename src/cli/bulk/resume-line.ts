import type { Context } from "../command.ts";

/** The global flags that decide where calls go, as they must be repeated; none of them is a secret. */
export const safeGlobals = ({ globals: { baseUrl, profile, emulator } }: Context): string[] => [
  ...(baseUrl === undefined ? [] : ["--base-url", baseUrl]),
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(emulator ? ["--emulator"] : []),
];
