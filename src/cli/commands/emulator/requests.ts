import type { watchRequests } from "../../../api/emulator/requests.ts";
import { fieldsOf } from "../../../base/object.ts";
import { pluralize } from "../../../base/pluralize.ts";
import type { CommandSpec } from "../../../derive/command-spec.ts";
import { type CommandInput, type Context, defineCommand } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { prepareCall, runDerivedCommand } from "../../derived-command.ts";
import { pickGiven } from "../../parse/given-values.ts";
import { deliveryFlags, followDeliveries, followFlag } from "../webhooks/deliveries.ts";

type Event = EventOf<typeof watchRequests>;

export const emulatorRequests = defineCommand({
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
  examples: [{ title: "As they arrive", argv: ["emulator", "requests", "--follow"] }],
  async run(input, context, spec) {
    if (!input.flags.follow) return list(spec!, input, context);
    const [{ watchRequests }, { followStream }] = await Promise.all([
      import("../../../api/emulator/requests.ts"),
      import("../../connection/follow.ts"),
    ]);
    const query = {
      ...withoutReads(input),
      ...pickGiven(input.flags, ["service", "operation", "status", "since", "reads"]),
    };
    return followStream(context, watchRequests, { query }, input.flags.file, line);
  },
});

/** Left out where nobody names what is wanted. */
const withoutReads = ({
  flags: { reads, service, operation, id },
}: Pick<CommandInput, "flags">): { readonly reads?: boolean } =>
  [reads, service, operation, id].every((given) => given === undefined) ? { reads: false } : {};

async function list(spec: CommandSpec, input: CommandInput, context: Context): Promise<undefined> {
  const { reads } = withoutReads(input);
  const prepared = await prepareCall(spec, input, context, reads === undefined ? {} : { query: { reads } });
  if (prepared === "dry-run") return undefined;
  const { reads_left_out: count } = fieldsOf((await prepared.send()).value);
  if (typeof count === "number" && count > 0) {
    await context.output.note(`${pluralize(count, "read")} of the control plane hidden. To show them: --reads`);
  }
  return undefined;
}

export const emulatorDeliveries = defineCommand({
  words: ["emulator", "deliveries"],
  summary: "List or follow webhook deliveries",
  extendsDerived: true,
  readsDerived: { flags: [...deliveryFlags, { flag: "offset", type: "integer" }] },
  positionals: [],
  flags: [followFlag],
  examples: [{ title: "As they happen", argv: ["emulator", "deliveries", "--follow"] }],
  async run(input, context, spec) {
    if (input.flags.follow) return followDeliveries(input, context);
    return runDerivedCommand(spec!, input, context);
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
