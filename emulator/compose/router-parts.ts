import { registry } from "../../src/api/registry.ts";
import { controlAuthenticators } from "../control/access/credentials.ts";
import { guarded } from "../control/access/guarded.ts";
import { controlHandlers } from "../control/handlers.ts";
import type { ControlWorld } from "../control/world.ts";
import { type Part, part } from "../http/parts.ts";
import { reply } from "../http/reply.ts";
import { routerAuthenticators } from "../router/credentials.ts";
import { routerHandlers } from "../router/handlers.ts";
import type { RouterWorld } from "../router/world.ts";

const of = (service: "router" | "emulator") => registry.filter((operation) => operation.service.name === service);

const control = guarded(controlHandlers);

/** The routing service. */
export const routerPart = (world: RouterWorld): Part =>
  part({ operations: of("router"), handlers: routerHandlers, authenticate: routerAuthenticators, world });

/** What the router's listener serves: the routing service, and the control plane (DECISIONS.md, E2). */
export const routerParts = (
  worlds: { readonly router: RouterWorld; readonly control: ControlWorld },
  token: string,
): readonly [Part, Part] => [
  routerPart(worlds.router),
  part({
    operations: of("emulator"),
    handlers: control,
    authenticate: controlAuthenticators({ token, tokens: worlds.control.tokens, sessions: worlds.control.sessions }),
    world: worlds.control,
  }),
];

/** What the router's listener serves while everything else is on its way: who it is, that it lives, and that it is not ready. */
export const readyPart = (instanceId: string): Part =>
  part({
    operations: registry.filter(({ id }) => id === "emulator.ready" || id === "emulator.live"),
    handlers: {
      "emulator.ready": () => reply(503, { instance_id: instanceId }),
      "emulator.live": () => ({ instance_id: instanceId }),
    },
    world: {},
  });
