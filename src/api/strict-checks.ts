/** The checks that `--strict` turns on, by name (DECISIONS.md, E1). */
export const strictChecks = ["bodies", "keys", "paths", "pkce", "storage", "receivers", "signatures"] as const;
export type StrictCheck = (typeof strictChecks)[number];
