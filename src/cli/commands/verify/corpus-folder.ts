import type { PositionalSpec } from "../../../derive/command-spec.ts";

/** The corpus that a command reads. */
export const corpusFolder = { name: "folder", description: "Folder of the corpus" } as const satisfies PositionalSpec;
