import type { RouterHandlers } from "./world.ts";

export const healthHandlers = {
  // False with 200 when the store cannot write (DECISIONS.md, R20).
  "health.check": (_, { store }) => ({ database: store.writable }),
} satisfies RouterHandlers;
