import { registry } from "../../src/api/registry.ts";
import { controlAuthenticators } from "../control/access/credentials.ts";
import { guardHandlers } from "../control/access/guard-handlers.ts";
import type { ControlContext } from "../control/context.ts";
import { controlHandlers } from "../control/handlers.ts";
import { createPart, type Part } from "../http/parts.ts";
import { reply } from "../http/reply.ts";
import type { RouterContext } from "../router/context.ts";
import { routerAuthenticators } from "../router/credentials.ts";
import { routerHandlers } from "../router/handlers.ts";

const of = (service: "router" | "emulator") => registry.filter((operation) => operation.service.name === service);

const control = guardHandlers(controlHandlers);

/** The routing service. */
export const routerPart = (world: RouterContext): Part =>
  createPart({ operations: of("router"), handlers: routerHandlers, authenticate: routerAuthenticators, world });

/** What the router's listener serves: the routing service, and the control plane (DECISIONS.md, E2). */
export const routerParts = (
  worlds: { readonly router: RouterContext; readonly control: ControlContext },
  token: string,
): readonly [Part, Part] => [
  routerPart(worlds.router),
  createPart({
    operations: of("emulator"),
    handlers: control,
    authenticate: controlAuthenticators({ token, tokens: worlds.control.tokens, sessions: worlds.control.sessions }),
    world: worlds.control,
  }),
];

/** What the router's listener serves while everything else is on its way: who it is, that it lives, and that it is not ready. */
export const readyPart = (instanceId: string): Part =>
  createPart({
    operations: registry.filter(({ id }) => id === "emulator.ready" || id === "emulator.live"),
    handlers: {
      "emulator.ready": () => reply(503, { instance_id: instanceId }),
      "emulator.live": () => ({ instance_id: instanceId }),
    },
    world: {},
  });
