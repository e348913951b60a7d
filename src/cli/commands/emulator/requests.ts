import type { watchRequests } from "../../../api/emulator/requests.ts";
import { counted } from "../../../base/counted.ts";
import { fieldsOf } from "../../../base/object.ts";
import type { CommandSpec } from "../../../derive/command-spec.ts";
import { type Context, command, type Input } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { call, runDerived } from "../../derived.ts";
import { picked } from "../../parse/picked.ts";
import { deliveryFlags, followDeliveries, followFlag } from "../webhooks/deliveries.ts";

type Event = EventOf<typeof watchRequests>;

export const emulatorRequests = command({
  words: ["emulator", "requests"],
  summary: "List or follow the requests that the emulator received",
  description:
    "Requests are kept in memory; the oldest are dropped first. Requests that only read the control plane are hidden, unless --reads, --service or --operation is given.",
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
  flags: [
    followFlag,
    // What is the default depends on the others here.
    {
      flag: "reads",
      type: "boolean",
      description: "Include requests that only read the control plane",
    },
  ],
  examples: [{ title: "As they come", argv: ["emulator", "requests", "--follow"] }],
  async run(input, context, spec) {
    if (!input.flags.follow) return list(spec!, input, context);
    const [{ watchRequests }, { follow }] = await Promise.all([
      import("../../../api/emulator/requests.ts"),
      import("../../connection/follow.ts"),
    ]);
    const query = {
      ...withoutReads(input),
      ...picked(input.flags, ["service", "operation", "status", "since", "reads"]),
    };
    return follow(context, watchRequests, { query }, input.flags.file, line);
  },
});

/** Left out where nobody names what is wanted. */
const withoutReads = ({
  flags: { reads, service, operation, id },
}: Pick<Input, "flags">): { readonly reads?: boolean } =>
  [reads, service, operation, id].every((given) => given === undefined) ? { reads: false } : {};

async function list(spec: CommandSpec, input: Input, context: Context): Promise<undefined> {
  const { reads } = withoutReads(input);
  const prepared = await call(spec, input, context, reads === undefined ? {} : { query: { reads } });
  if (prepared === "dry-run") return undefined;
  const { reads_left_out: count } = fieldsOf((await prepared.send()).value);
  if (typeof count === "number" && count > 0) {
    await context.output.note(`${counted(count, "read")} of the control plane left out: --reads shows them`);
  }
  return undefined;
}

export const emulatorDeliveries = command({
  words: ["emulator", "deliveries"],
  summary: "List or follow webhook deliveries",
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
