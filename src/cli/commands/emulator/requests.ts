import type { watchRequests } from "../../../api/emulator/requests.ts";
import { command } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { runDerived } from "../../derived.ts";
import { picked } from "../../parse/picked.ts";
import { deliveryFlags, followDeliveries, followFlag } from "../webhooks/deliveries.ts";

type Event = EventOf<typeof watchRequests>;

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
      { flag: "changes", type: "boolean" },
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
    const query = picked(input.flags, ["service", "operation", "status", "since", "changes"]);
    return follow(context, watchRequests, { query }, input.flags.file, line);
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
