import type { resendDelivery } from "../../../api/emulator/deliveries.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { command } from "../../command.ts";
import { call } from "../../derived.ts";

/** Says by its exit code whether the attempt got through, as `webhooks trigger` and `webhooks replay` do. */
export const deliveriesResend = command({
  words: ["emulator", "deliveries", "resend"],
  summary: "Send a delivery once more, now, and show what came of it",
  description: "Exits 1 unless the receiver answers 2xx.",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    const prepared = await call<ResultOf<typeof resendDelivery>>(spec!, input, context, { reads: true });
    if (prepared === "dry-run") return undefined;
    const { value } = await prepared.send();
    const { resend, status } = value.attempts.at(-1) ?? { resend: false, status: null };
    const arrived = resend && status !== null && status >= 200 && status < 300;
    return arrived ? undefined : "failed";
  },
});
