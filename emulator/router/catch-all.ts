import { forwardTo } from "./forward.ts";
import type { RouterHandlers } from "./home.ts";
import { identifiersOf } from "./identifiers.ts";
import { ownersOf } from "./resolve.ts";

export const catchAllHandlers = {
  "catch-all": async (_, call) => forwardTo(call, await ownersOf(call, identifiersOf(call.request))),
} satisfies RouterHandlers<"catch-all">;
