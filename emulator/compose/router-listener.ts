import { registry } from "../../src/api/registry.ts";
import type { ControlWorld } from "../control/context.ts";
import { controlAuthenticators } from "../control/credentials.ts";
import { controlHandlers } from "../control/handlers.ts";
import { buildListener, type Listener } from "../http/listener.ts";
import { part } from "../http/parts.ts";
import type { RouterWorld } from "../router/context.ts";
import { routerAuthenticators } from "../router/credentials.ts";
import { routerHandlers } from "../router/handlers.ts";
import type { ListenerDuties } from "./listener-duties.ts";

const of = (service: "router" | "emulator") => registry.filter((operation) => operation.service.name === service);

/** The router's listener: the routing service, and the control plane under `/_emulator/` (design.md, section 5). */
export const routerListener = (
  worlds: { readonly router: RouterWorld; readonly control: ControlWorld },
  token: string,
  isOpen: () => boolean,
  duties: ListenerDuties,
): Promise<Listener> =>
  buildListener({
    ...duties,
    name: "router",
    isOpen,
    parts: [
      part({
        operations: of("router"),
        handlers: routerHandlers,
        authenticate: routerAuthenticators,
        world: worlds.router,
      }),
      part({
        operations: of("emulator"),
        handlers: controlHandlers,
        authenticate: controlAuthenticators(token),
        world: worlds.control,
      }),
    ],
  });
