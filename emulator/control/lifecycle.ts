import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import type { KeptAmount } from "../http/kept.ts";
import { isFromHere } from "../http/proxies.ts";
import { reply } from "../http/reply.ts";
import type { ControlHandlers } from "./world.ts";

export const lifecycleHandlers = {
  "emulator.ready": (_, { instance, store }) =>
    store.writable
      ? reply(200, instance.readiness())
      : reply(503, { ...instance.readiness(), why: "The state cannot be written; what is asked is answered" }),

  "emulator.live": (_, { instance, request }) => aboutProcess(instance.readiness(), instance.process, request),

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

/** What a process says of itself to one who asks whether it lives. */
export const aboutProcess = (
  readiness: Readiness,
  process: NonNullable<Liveness["process"]>,
  request: ReceivedRequest,
): Liveness => ({
  ...readiness,
  // A proxy may forward without a word of it.
  ...(readiness.public_url === undefined && isFromHere(request) && { process }),
});

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
