import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { Passthrough } from "../../http/reply.ts";
import { targetOf } from "../../http/routing/path.ts";
import { authorizationServer } from "../oidc/oidc.ts";
import { identifiersOf } from "../resolve/identifiers.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { ForwardCall, RouterHandlers } from "../world.ts";
import { forwardTo } from "./forward.ts";

/** What the router answers itself although the specification does not name it: no cluster knows the router's URLs. */
const ownAnswers = lookupTable<(call: ForwardCall) => Promise<Passthrough>>({
  "GET /.well-known/oauth-authorization-server": authorizationServer,
});

export const catchAllHandlers = {
  "catch-all": async (_, call) => {
    const { method, target } = call.request;
    const own = ownAnswers[`${method} ${targetOf(target).path}`];
    return own ? own(call) : forwardTo(call, await ownersOf(call, identifiersOf(call.request)));
  },
} satisfies RouterHandlers;
