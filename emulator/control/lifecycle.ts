import type { Handlers } from "../http/handler.ts";
import { reply } from "../http/reply.ts";
import type { ControlWorld } from "./world.ts";

export const lifecycleHandlers: Handlers<"emulator.ready" | "emulator.stop", ControlWorld, unknown> = {
  "emulator.ready": (_, { instance }) => reply(200, { instance_id: instance.id }),

  "emulator.stop": (_, { instance }) => {
    instance.stop();
    return undefined;
  },
};
