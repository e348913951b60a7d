import type { watchRequests } from "../../../api/emulator/requests.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { command } from "../../command.ts";
import { runDerived } from "../../derived.ts";
import { deliveryFlags, followDeliveries, followFlag } from "../webhooks/deliveries.ts";

type Event = ResultOf<typeof watchRequests> extends AsyncIterable<infer One> ? One : never;

export const emulatorRequests = command({
  words: ["emulator", "requests"],
  summary: "List the requests that the emulator received, or follow them",
  description: "The log is kept in memory and drops its oldest.",
  extendsDerived: true,
  readsDerived: {
    flags: [
      { flag: "service", type: "text" },
      { flag: "operation", type: "text" },
      { flag: "status", type: "integer" },
      { flag: "since", type: "text" },
      { flag: "file", type: "text" },
    ],
  },
  positionals: [],
  flags: [followFlag],
  examples: [{ title: "As they come", argv: ["emulator", "requests", "--follow"] }],
  async run(input, context, spec) {
    if (!input.flags.follow) return runDerived(spec!, input, context);
    const [{ watchRequests }, { follow }] = await Promise.all([
      import("../../../api/emulator/requests.ts"),
      import("../../connection/follow.ts"),
    ]);
    const names = ["service", "operation", "status", "since"] as const;
    const query = Object.fromEntries(
      names.flatMap((name) => (input.flags[name] === undefined ? [] : [[name, input.flags[name]]])),
    );
    return follow(context, watchRequests, { query }, input.flags.file, (one) => line(one as Event));
  },
});

export const emulatorDeliveries = command({
  words: ["emulator", "deliveries"],
  summary: "List webhook deliveries and their attempts, newest first, or follow them",
  extendsDerived: true,
  readsDerived: { flags: [...deliveryFlags, { flag: "offset", type: "integer" }] },
  positionals: [],
  flags: [followFlag],
  examples: [{ title: "As they happen", argv: ["emulator", "deliveries", "--follow"] }],
  async run(input, context, spec) {
    if (input.flags.follow) return followDeliveries(input, context);
    return runDerived(spec!, input, context);
  },
});

function line({
  at,
  listener,
  method,
  target,
  status,
  operation,
  failure,
  findings,
  duration_ms: took,
}: Event): string {
  const about = failure ?? operation ?? "not declared";
  const noted = findings.length === 0 ? "" : ` (${findings.map(({ code }) => code).join(", ")})`;
  return `${at} ${listener} ${method} ${target} ${status} ${took} ms ${about}${noted}`;
}
