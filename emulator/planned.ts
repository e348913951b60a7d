import type { OperationId } from "../src/api/registry.ts";

/** Operations that are declared and have no handler yet, each with the reason. The emulator answers them 501. */
export const planned = {
  "chat-b.messaging": "waits for the check of bot-framework tokens",
  "crm-a.iframe": "waits for the pages of crm_a",
  "crm-a.cards": "waits for the pages of crm_a",
  "crm-b.open": "waits for the pages of crm_b",
  "crm-b.canvas": "waits for the pages of crm_b",
} as const satisfies Partial<Record<OperationId, string>>;

export type Planned = keyof typeof planned;
