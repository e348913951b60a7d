/** The leniencies that `--strict` of an emulator turns off, by name (DECISIONS.md, E1). */
export const strictnesses = ["bodies", "keys", "paths", "pkce", "storage", "receivers", "signatures"] as const;
export type Strictness = (typeof strictnesses)[number];
