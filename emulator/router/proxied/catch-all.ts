import { identifiersOf } from "../resolve/identifiers.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { RouterHandlers } from "../world.ts";
import { forwardTo } from "./forward.ts";

export const catchAllHandlers = {
  "catch-all": async (_, call) => forwardTo(call, await ownersOf(call, identifiersOf(call.request))),
} satisfies RouterHandlers;
