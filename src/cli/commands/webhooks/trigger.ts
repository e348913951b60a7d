import { activities, activityGroups } from "../../../api/activities.ts";
import type { showDelivery } from "../../../api/emulator/deliveries.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { type Context, defineCommand } from "../../command.ts";
import { CommandFailedError, InputRequiredError, PartialFailureError } from "../../failure.ts";
import { contractFlag, editPayload, payloadChanges, payloadFlags } from "./payload.ts";
import { parseActivity } from "./registration.ts";

type WholeDelivery = ResultOf<typeof showDelivery>;

export const webhooksTrigger = defineCommand({
  words: ["webhooks", "trigger"],
  summary: "Send a test webhook to all subscribers of an activity",
  description: `The contract does not change. Without an activity, all ${activities.length} activities are listed. Exits 1 if a response is not 2xx, or if there is no subscriber.`,
  positionals: [
    { name: "activity", description: "Activity, such as CONTRACT_SIGNED", optional: true, offered: activities },
  ],
  flags: [
    contractFlag,
    ...payloadFlags,
    {
      flag: "webhook",
      type: "integer",
      least: 1,
      placeholder: "ID",
      description: "Send it to this webhook only (default: all subscribers)",
    },
    { flag: "dry-run", short: "n", type: "switch", description: "Print the request without sending it" },
    { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
  ],
  examples: [
    { title: "List all activities", argv: ["webhooks", "trigger"] },
    { title: "A signature", argv: ["webhooks", "trigger", "CONTRACT_SIGNED", "--contract", "T-1"] },
    {
      title: "With another status in the payload",
      argv: ["webhooks", "trigger", "CONTRACT_VOIDED", "--set", "contract_status=VOIDED"],
    },
    {
      title: "With payload fields added and removed",
      argv: ["webhooks", "trigger", "CONTRACT_SIGNED", "--remove", "entity", "--add", "contract_tags=[]"],
    },
    { title: "With your own payload", argv: ["webhooks", "trigger", "CONTRACT_SIGNED", "--edit"] },
  ],
  async run(input, context) {
    const named = input.positionals.activity;
    if (named === undefined) {
      const [flag] = Object.keys(input.flags);
      if (flag !== undefined) throw new InputRequiredError("activity", `<activity> is required with --${flag}`);
      return listActivities(context);
    }
    const activity = parseActivity(named);
    const { webhook } = input.flags;
    const changes = { ...(await payloadChanges(input, context)), ...(webhook !== undefined && { webhook }) };
    const usual = { activity, ...changes, wait: true };
    const { fireActivity } = await import("../../../api/emulator/activities.ts");
    if (input.flags["dry-run"]) {
      const { printPlan } = await import("../../connection/dry-run.ts");
      await printPlan(CheckedCall.of(fireActivity, { body: usual }), undefined, context);
      return undefined;
    }
    const { showDelivery } = await import("../../../api/emulator/deliveries.ts");
    const { signal } = context;
    const client = await context.client("emulator", { file: input.flags.file });
    const body = input.flags.edit ? await editPayload(usual, client, context) : usual;
    const fired = await client.call(fireActivity, { body }, { signal });
    const deliveries = await Promise.all(
      fired.deliveries.map((id) => client.call(showDelivery, { params: { id } }, { signal })),
    ).catch((error: unknown) => {
      const which = fired.deliveries.join(", ");
      throw new PartialFailureError(error, [`Sent the webhooks of ${fired.composite_id}: deliveries ${which}`], {
        next: ["webhooks", "deliveries"],
      });
    });
    await report(fired.composite_id, deliveries, await urlsOf(deliveries, client, context), context);
    return deliveries.every(({ outcome }) => outcome === "delivered") ? undefined : "failed";
  },
});

/** In the place of an answer, where no attempt was made. */
function unsent(outcome: WholeDelivery["outcome"], status: WholeDelivery["webhook_status"]): string {
  if (outcome === "waiting") return "waiting for the first attempt";
  return `${outcome === "skipped_not_allowed" ? "host not allowed" : status}: nothing was sent`;
}

async function listActivities({ output }: Context) {
  const rows = Object.entries(activityGroups).flatMap(([group, names]) =>
    names.map((activity) => ({ activity, group })),
  );
  await output.show(rows, { columns: ["activity", "group"], fields: ["activity", "group"] });
  return undefined;
}

/** Where those lead that nothing was sent to: no attempt says it. */
async function urlsOf(deliveries: readonly WholeDelivery[], client: Client, { signal }: Context) {
  if (deliveries.every(({ attempts }) => attempts.length > 0)) return new Map<number, string>();
  const { listControlWebhooks } = await import("../../../api/emulator/webhooks.ts");
  return new Map((await client.call(listControlWebhooks, {}, { signal })).map(({ id, url }) => [id, url] as const));
}

/** What each receiver said. Nobody to be told is a failure: a trigger without an answer proves nothing. */
async function report(
  contract: string,
  deliveries: readonly WholeDelivery[],
  urls: ReadonlyMap<number, string>,
  { output }: Context,
): Promise<void> {
  const activity = deliveries[0]?.activity;
  if (activity === undefined) {
    throw new CommandFailedError(
      "failed",
      "nobody_subscribed",
      "No webhook is subscribed to this activity. Nothing was sent.",
      {
        hint: "Subscribe a receiver on this machine:",
        next: ["webhooks", "listen"],
      },
    );
  }
  const rows = deliveries.map(({ id, webhook_id, webhook_status, outcome, next_attempt_at, attempts }) => {
    const last = attempts.at(-1);
    return {
      delivery: id,
      webhook_id,
      activity,
      contract,
      url: last?.url ?? urls.get(webhook_id) ?? null,
      status: last?.status ?? null,
      answer: last ? (last.error?.message ?? `status ${last.status}`) : unsent(outcome, webhook_status),
      duration_ms: last?.duration_ms ?? null,
      outcome,
      next_attempt_at,
      response_body: last?.response_body ?? null,
    };
  });
  await output.show(rows, {
    columns: [
      "delivery",
      "webhook_id",
      { name: "url", cut: 1, least: 12, omits: "start" },
      { name: "answer", cut: 2, least: 10, purpose: true },
      { name: "outcome", purpose: true },
      "next_attempt_at",
    ],
  });
}
