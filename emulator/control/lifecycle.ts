import { reply } from "../http/reply.ts";
import type { ControlHandlers } from "./world.ts";

export const lifecycleHandlers = {
  "emulator.ready": (_, { instance }) => reply(200, { instance_id: instance.id }),

  "emulator.stop": (_, { instance }) => {
    instance.stop();
    return undefined;
  },
} satisfies ControlHandlers;
