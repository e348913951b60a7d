/** contract-api-facts.md, 4.1, plus decisions.md, C22. */
export const contractStatuses = ["DRAFT", "REDLINING", "SIGN", "EXECUTED", "ON_HOLD", "VOIDED"] as const;
export type ContractStatus = (typeof contractStatuses)[number];
