import { targetOf } from "../../http/routing/path.ts";
import { isServerMetadata } from "../oidc/discovery.ts";
import { authorizationServer } from "../oidc/oidc.ts";
import { identifiersOf } from "../resolve/identifiers.ts";
import { ownersOf } from "../resolve/resolve.ts";
import type { RouterHandlers } from "../world.ts";
import { forwardTo } from "./forward.ts";

export const catchAllHandlers = {
  "catch-all": async (_, call) => {
    const { method, target } = call.request;
    // The specification does not name it, and no cluster knows the router's URLs.
    const isOwn = method === "GET" && isServerMetadata(targetOf(target).path, call.settings.publicUrl);
    return isOwn ? authorizationServer(call) : forwardTo(call, await ownersOf(call, identifiersOf(call.request)));
  },
} satisfies RouterHandlers;
