import type { ControlHandlers } from "../world.ts";

export const eventHandlers = {
  // What a stream brought last counts before what its address says: a browser repeats the address when it reconnects.
  "events.watch": ({ query }, { feed, request }) =>
    feed.follow(request.headers["last-event-id"] || query.after, request.signal),
} satisfies ControlHandlers;
