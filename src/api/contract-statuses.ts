/** DECISIONS.md, F9, C22. */
export const contractStatuses = ["DRAFT", "REDLINING", "SIGN", "EXECUTED", "ON_HOLD", "VOIDED"] as const;
export type ContractStatus = (typeof contractStatuses)[number];
