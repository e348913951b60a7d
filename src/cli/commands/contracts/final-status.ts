/** Statuses that a contract never leaves (DECISIONS.md, C22). */
const final: ReadonlySet<string> = new Set(["EXECUTED", "VOIDED"]);

export const isFinal = (status: string): boolean => final.has(status);
