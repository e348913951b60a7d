import type { OperationId } from "../src/api/registry.ts";

/** Operations that are declared and have no handler yet, each with the reason. The emulator answers them 501. */
export const planned = {} as const satisfies Partial<Record<OperationId, string>>;

export type Planned = keyof typeof planned;
