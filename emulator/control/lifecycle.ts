import type { KeptAmount } from "../http/kept.ts";
import { isFromHere } from "../http/proxies.ts";
import { reply } from "../http/reply.ts";
import type { ControlHandlers } from "./world.ts";

export const lifecycleHandlers = {
  "emulator.ready": (_, { instance, store }) =>
    store.writable
      ? reply(200, instance.readiness())
      : reply(503, { ...instance.readiness(), why: "The state cannot be written; what is asked is answered" }),

  "emulator.live": (_, { instance, request }) => ({
    ...instance.readiness(),
    // A proxy may hand on without a word of it.
    ...(instance.readiness().public_url === undefined && isFromHere(request) && { process: instance.process }),
  }),

  "emulator.kept": (_, { requestLog, inboxes, feed, spans }) => ({
    requests: requestLog.amount,
    inboxes: sumOf([...inboxes.values()].map(({ amount }) => amount)),
    events: feed.amount,
    spans: spans?.amount ?? null,
  }),

  "emulator.stop": (_, { instance }) => {
    instance.stop();
    return undefined;
  },
} satisfies ControlHandlers;

const sumOf = (amounts: readonly KeptAmount[]): KeptAmount =>
  amounts.reduce(
    (sum, each) => ({
      count: sum.count + each.count,
      bytes: sum.bytes + each.bytes,
      max_bytes: sum.max_bytes + each.max_bytes,
      dropped: sum.dropped + each.dropped,
    }),
    { count: 0, bytes: 0, max_bytes: 0, dropped: 0 },
  );
