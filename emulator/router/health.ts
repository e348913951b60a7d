import type { RouterHandlers } from "./world.ts";

export const healthHandlers = {
  // False with 200 when the store cannot write (DECISIONS.md, R20).
  "health.show": (_, { store }) => ({ database: store.writable }),
} satisfies RouterHandlers;
