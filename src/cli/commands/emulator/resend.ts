import type { resendDelivery } from "../../../api/emulator/deliveries.ts";
import type { resendToWebhook } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { succeeded } from "../../../api/webhook-health/attempts.ts";
import { readable } from "../../../client/response.ts";
import { type Context, command, type Input } from "../../command.ts";
import { call, type PreparedCall } from "../../derived.ts";

type Resent = ResultOf<typeof resendDelivery>;

/** Says by its exit code whether all got through, as `webhooks trigger` and `webhooks replay` do. */
export const deliveriesResend = command({
  words: ["emulator", "deliveries", "resend"],
  summary: "Send deliveries once more, now, and show what came of it",
  description:
    "One after another, in the order given. Exits 1 unless the receiver answers 2xx to each. All that did not arrive of one webhook: svc emulator webhooks resend ID.",
  positionals: [{ name: "id", description: "Ids of the deliveries", variadic: true, type: "integer" }],
  flags: [
    { flag: "dry-run", short: "n", type: "switch", description: "Print the request instead of sending it" },
    { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
  ],
  examples: [
    { title: "Deliver what was skipped", argv: ["emulator", "deliveries", "resend", "1"] },
    { title: "Several", argv: ["emulator", "deliveries", "resend", "1", "2"] },
  ],
  async run(input, context, spec) {
    const ids = input.positionals.id;
    const made: Resent[] = [];
    let hasFailed = false;
    try {
      for (const id of ids) {
        // As the parser makes a number of a single one; what is none is refused in the usual words.
        const one = { ...input, positionals: { id: /^\d{1,15}$/.test(id) ? Number(id) : id } } as unknown as Input;
        const prepared = await call<Resent>(spec!, one, context, { reads: true });
        if (prepared === "dry-run") continue;
        const value = ids.length === 1 ? (await prepared.send()).value : await silently(prepared, context);
        made.push(value);
        const last = value.attempts.at(-1);
        if (!last?.resend || !succeeded(last)) hasFailed = true;
      }
    } finally {
      if (ids.length > 1 && made.length > 0) await context.output.show(made, { columns });
    }
    return hasFailed ? "failed" : undefined;
  },
});

const columns = ["id", { name: "activity", cut: 1 }, { name: "composite_id", cut: 2 }, "standing"] as const;

async function silently({ call: one, client }: PreparedCall<Resent>, { signal }: Context): Promise<Resent> {
  return readable(await client.send(one, { signal })) as Resent;
}

/** Says by its exit code whether nothing is left that has not arrived. */
export const webhooksResend = command({
  words: ["emulator", "webhooks", "resend"],
  summary: "Send a subscription again what did not arrive, oldest first",
  description:
    "What failed for the last time, was skipped or will be, and what waits for a retry, without waiting: one after another, until one fails again, a hundred are sent, or some twenty seconds are over. Exits 1 where some are left that have not arrived.",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    const prepared = await call<ResultOf<typeof resendToWebhook>>(spec!, input, context, { reads: true });
    if (prepared === "dry-run") return undefined;
    const { value } = await prepared.send();
    const { items, left } = value;
    const failed = items.find(({ attempts }) => !attempts.at(-1)?.resend || !succeeded(attempts.at(-1)!));
    const arrived = items.length - (failed ? 1 : 0);
    if (left === 0) {
      await context.output.note(items.length === 0 ? "Nothing is left to be sent." : `All ${arrived} arrived.`);
      return undefined;
    }
    const why = failed
      ? failed.attempts.at(-1)?.resend
        ? `: delivery ${failed.id} failed again`
        : `: delivery ${failed.id} was not sent, for its address is not allowed`
      : "; the same command goes on";
    await context.output.note(`${arrived} arrived, ${left} ${left === 1 ? "is" : "are"} left${why}`);
    return "failed";
  },
});
