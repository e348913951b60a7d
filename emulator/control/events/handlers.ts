import { whileAllowed } from "../access/while-allowed.ts";
import type { ControlHandlers } from "../world.ts";

export const eventHandlers = {
  // What a stream brought last counts before what its address says: a browser repeats the address when it reconnects.
  "events.watch": ({ query }, world) => {
    const { feed, request } = world;
    const after = request.headers["last-event-id"] || query.after;
    return whileAllowed(world, (signal) => feed.follow(after, signal));
  },
} satisfies ControlHandlers;
