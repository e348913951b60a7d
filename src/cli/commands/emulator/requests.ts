import type { resendDelivery } from "../../../api/emulator/deliveries.ts";
import { watchRequests } from "../../../api/emulator/requests.ts";
import type { resendToWebhook } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { type Attempt, hasSucceeded, summarizeAttemptOutcome } from "../../../api/webhook-health/attempts.ts";
import { toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { requireValidValue } from "../../../client/response.ts";
import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { type EventOf, followStream } from "../../connection/follow.ts";
import type { CommandInput } from "../../parse/declaration.ts";
import { pickGiven } from "../../parse/values.ts";
import { withSpinner } from "../../prompt/terminal.ts";
import { prepareRequest } from "../../runtime/derived-command.ts";
import { describeResponse, followFlag } from "../webhooks/deliveries.ts";

const emulatorRequests = defineCommand({
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
      { flag: "workspace", type: "integer" },
      { flag: "since", type: "text" },
      { flag: "file", type: "text" },
    ],
  },
  flags: [
    followFlag,
    // The default depends on the other flags.
    { flag: "reads", type: "boolean", description: "Include requests that only read the control plane" },
  ],
  examples: [["Print requests as they arrive", "emulator requests --follow"]],
  async run(input, context, spec) {
    if (input.flags.follow) {
      const filters = pickGiven(input.flags, ["service", "operation", "status", "workspace", "since", "reads"]);
      const query = { ...excludesReads(input), ...filters };
      return followStream(context, watchRequests, { query }, input.flags.file, formatLine);
    }
    const request = await prepareRequest(spec!, input, context, { query: excludesReads(input) });
    if (request === "dry-run") return undefined;
    const { reads_omitted: count } = toFields((await request.send()).value);
    if (typeof count === "number" && count > 0)
      await context.output.note(`${pluralize(count, "read")} of the control plane hidden. To show them: --reads`);
  },
});

const excludesReads = ({ flags }: CommandInput): { readonly reads?: boolean } =>
  ["reads", "service", "operation", "id"].every((name) => flags[name] === undefined) ? { reads: false } : {};

function formatLine(event: EventOf<typeof watchRequests>): string {
  const { at, listener, method, target, status, findings, duration_ms: durationMs } = event;
  const description = event.failure ?? event.operation ?? "not declared";
  const findingsNote = findings.length === 0 ? "" : ` (${findings.map(({ code }) => code).join(", ")})`;
  return `${at} ${listener} ${method} ${target} ${status} ${durationMs} ms ${description}${findingsNote}`;
}

type ResendResult = ResultOf<typeof resendDelivery>;

/** The exit code reports whether all deliveries succeeded, as in `webhooks trigger` and `webhooks replay`. */
const deliveriesResend = defineCommand({
  words: ["emulator", "deliveries", "resend"],
  summary: "Resend deliveries now, and show the results",
  description:
    "Sends the deliveries one after another, in the given order. Exits 1 unless each response is 2xx. To resend all undelivered deliveries of a webhook, use svc emulator webhooks resend ID.",
  positionals: [{ name: "id", description: "IDs of the deliveries", variadic: true, type: "integer" }],
  flags: [
    createSwitch("dry-run", "Print the request without sending it", { short: "n" }),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["Resend a skipped delivery", "emulator deliveries resend 1"],
    ["Resend several deliveries", "emulator deliveries resend 1 2"],
  ],
  async run(input, context, spec) {
    const ids = input.positionals.id;
    const results: ResendResult[] = [];
    let hasFailed = false;
    try {
      for (const id of ids) {
        const singleInput = { ...input, positionals: { id } };
        const request = await prepareRequest<ResendResult>(spec!, singleInput, context, { reads: true });
        if (request === "dry-run") continue;
        const value =
          ids.length === 1
            ? (await request.send()).value
            : (requireValidValue(await request.client.send(request.call)) as ResendResult);
        results.push(value);
        const failure = findFailure(value);
        if (failure === undefined) continue;
        hasFailed = true;
        await context.output.note(`Delivery ${value.id} ${failure}`);
      }
    } finally {
      if (ids.length > 1 && results.length > 0) await showResent(results, results, context);
    }
    return hasFailed ? "failed" : undefined;
  },
});

function findFailure({ attempts }: { readonly attempts: readonly Attempt[] }): string | undefined {
  const last = attempts.at(-1);
  if (!last?.resend) return "was not sent: its address is not allowed";
  if (hasSucceeded(last)) return undefined;
  const verb = attempts.length > 1 ? "failed again" : "failed";
  return `${verb}: ${summarizeAttemptOutcome(last)}${last.response === null ? "" : `: ${last.response}`}`;
}

const columns = [
  "id",
  { name: "activity", shrinkPriority: 1 },
  { name: "composite_id", shrinkPriority: 2 },
  { name: "response", shrinkPriority: 3, purpose: true },
  "status_text",
] as const;

/**
 * Shows resent deliveries. A table has the response to each resend, because a failed one does not change the status of
 * its delivery (DECISIONS.md, C18).
 */
function showResent(items: readonly { readonly attempts: readonly Attempt[] }[], value: unknown, { output }: Context) {
  if (output.format !== "table") return output.show(value, { rows: "items", columns });
  const rows = items.map((item) => {
    const last = item.attempts.at(-1);
    return { ...item, response: (last?.resend && describeResponse(last)) || "not sent" };
  });
  return output.show(rows, { columns, emptyMessage: "No undelivered deliveries." });
}

const webhooksResend = defineCommand({
  words: ["emulator", "webhooks", "resend"],
  description:
    "Sends failed, skipped and retrying deliveries one after another, oldest first. Stops when one fails, after 100 deliveries, or after about 20 seconds. Exits 1 if some have not arrived.",
  extendsDerived: true,
  async run(input, context, spec) {
    const request = await prepareRequest(spec!, input, context, { reads: true });
    if (request === "dry-run") return undefined;
    const { client, call } = request;
    const value = (await withSpinner(context, "Resending deliveries", async () =>
      requireValidValue(await client.send(call)),
    )) as ResultOf<typeof resendToWebhook>;
    const { items, remaining } = value;
    await showResent(items, value, context);
    const failed = items.find((delivery) => findFailure(delivery) !== undefined);
    const arrivedCount = items.length - (failed ? 1 : 0);
    if (remaining === 0) {
      if (items.length > 0) await context.output.note(`All ${arrivedCount} arrived.`);
      return undefined;
    }
    const next = failed
      ? `: delivery ${failed.id} ${findFailure(failed)}`
      : ". To continue, run the same command again";
    await context.output.note(`${arrivedCount} delivered, ${remaining} undelivered${next}`);
    return "failed";
  },
});

export const commands: readonly Command[] = [emulatorRequests, deliveriesResend, webhooksResend];
