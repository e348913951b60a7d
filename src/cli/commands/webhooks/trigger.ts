import { activities, activityGroups } from "../../../api/activities.ts";
import { fireActivity } from "../../../api/emulator/activities.ts";
import { showDelivery } from "../../../api/emulator/deliveries.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ArgumentsOf, ResultOf } from "../../../api/operation.ts";
import { restoreExactNumbers, stringifyExact } from "../../../base/json.ts";
import { isObject, omitUndefined } from "../../../base/object.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { ServiceError } from "../../../client/errors.ts";
import { type ApiResponse, requireValidValue } from "../../../client/response.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { printPlan } from "../../connection/http.ts";
import { openEmulatorClient } from "../../connection/target.ts";
import { escapeJson } from "../../output/control-characters.ts";
import { parseAssignment, parseValue, readDocument } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { InputRequiredError, PartialFailureError, UsageError } from "../../process/failure.ts";
import { canPrompt } from "../../prompt/terminal.ts";
import { parseActivity } from "./registration.ts";

type WholeDelivery = ResultOf<typeof showDelivery>;
type FiredActivity = ResultOf<typeof fireActivity>;

type PayloadBody = NonNullable<ArgumentsOf<typeof fireActivity>["body"]>;
type PayloadDocument = Record<string, unknown>;

const contractFlag = createTextFlag("contract", "ID", "Contract: 12 or T-12 (default: the newest, or a new one)");

/** Changes to the payload of an activity. An invalid change is an error, and no webhook is notified. */
const payloadFlags = [
  createTextFlag("set", "PATH=VALUE", "Set a field of the payload: counterparties.0.poc_email=x@y.example", {
    repeatable: true,
  }),
  createTextFlag("add", "PATH=VALUE", "Add a field to the payload, or an item to a list", { repeatable: true }),
  createTextFlag("remove", "PATH", "Remove a field from the payload", { repeatable: true }),
  createTextFlag("data", "FILE|-", "JSON document with more keys for activity_data"),
  createTextFlag("raw", "FILE|-", "Send this JSON document as the payload"),
  createSwitch("edit", "Edit the payload in $VISUAL or $EDITOR before it is sent"),
] as const satisfies readonly FlagSpec[];

async function readPayloadChanges(
  { flags }: CommandInputOf<readonly [typeof contractFlag, ...typeof payloadFlags]>,
  { host, globals }: Context,
): Promise<Omit<PayloadBody, "activity">> {
  if (flags.edit && !canPrompt(host, globals)) {
    throw new UsageError("--edit requires a terminal", { hint: "To change fields, use --set, --add and --remove." });
  }
  if (flags.data !== undefined && flags.raw !== undefined) {
    throw new UsageError("--data cannot be used with --raw");
  }
  const [data, payload] = [await readObject(host, flags.data, "--data"), await readObject(host, flags.raw, "--raw")];
  const changes = {
    contract_id: flags.contract,
    overrides: parseAssignments(flags.set, "--set"),
    additions: parseAssignments(flags.add, "--add"),
    removals: flags.remove?.map((path) => parseAssignment(`${path}=`, "--remove").path.join(".")),
    data,
    payload,
  };
  return omitUndefined(changes);
}

function parseAssignments(texts: readonly string[] | undefined, flag: string): PayloadDocument | undefined {
  if (texts === undefined) return undefined;
  const assignments = texts.map((text) => parseAssignment(text, flag));
  return Object.fromEntries(assignments.map(({ path, text }) => [path.join("."), parseValue(text)]));
}

async function readObject(host: Context["host"], file: string | undefined, flag: string) {
  if (file === undefined) return undefined;
  const document = await readDocument(host, file, flag);
  if (isObject(document)) return document;
  throw new UsageError(`${flag} must be a JSON object`);
}

async function editPayload({ activity, ...changes }: PayloadBody, client: Client, context: Context) {
  const { editText } = await import("../../prompt/programs.ts");
  const call = CheckedCall.check(fireActivity, { body: { activity, ...changes, preview: true } });
  const preview = requireValidValue((await client.send(call, { exactNumbers: true })) as ApiResponse<FiredActivity>);
  const original = escapeJson(stringifyExact(preview.payload, 2));
  const text = await editText(original, `${activity}.json`, context, findProblem);
  return {
    activity,
    // The preview of a new contract does not create it.
    contract_id: preview.is_new_contract ? changes.contract_id : preview.contract_id,
    ...(changes.webhook !== undefined && { webhook: changes.webhook }),
    payload: restoreExactNumbers(text, JSON.parse(text)) as PayloadDocument,
    wait: true,
  };
}

function findProblem(text: string): string | undefined {
  try {
    return isObject(JSON.parse(text)) ? undefined : "This is not a JSON object.";
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`;
  }
}

const webhooksTrigger = defineCommand({
  words: ["webhooks", "trigger"],
  summary: "Send a test webhook to all subscribers of an activity",
  description: `The contract does not change. Without an activity, all ${activities.length} activities are listed. Exits 1 if a response is not 2xx, or if there is no subscriber.`,
  positionals: [
    { name: "activity", description: "Activity, such as CONTRACT_SIGNED", optional: true, suggestions: activities },
  ],
  flags: [
    contractFlag,
    ...payloadFlags,
    createIntegerFlag("webhook", "Send it to this webhook only (default: all subscribers)", {
      min: 1,
      placeholder: "ID",
    }),
    createSwitch("dry-run", "Print the request without sending it", { short: "n" }),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["List all activities", "webhooks trigger"],
    ["Report a signature", "webhooks trigger CONTRACT_SIGNED --contract T-1"],
    ["Send another status in the payload", "webhooks trigger CONTRACT_VOIDED --set contract_status=VOIDED"],
    ["Add and remove payload fields", "webhooks trigger CONTRACT_SIGNED --remove entity --add 'contract_tags=[]'"],
    ["Edit the payload before sending", "webhooks trigger CONTRACT_SIGNED --edit"],
  ],
  async run(input, context) {
    const givenActivity = input.positionals.activity;
    if (givenActivity === undefined) {
      const [flag] = Object.keys(input.flags);
      if (flag !== undefined) throw new InputRequiredError("activity", `<activity> is required with --${flag}`);
      return listActivities(context);
    }
    const activity = parseActivity(givenActivity);
    const { webhook } = input.flags;
    const changes = { ...(await readPayloadChanges(input, context)), ...(webhook !== undefined && { webhook }) };
    const defaults = { activity, ...changes, wait: true };
    if (input.flags["dry-run"]) {
      await printPlan(CheckedCall.check(fireActivity, { body: defaults }), undefined, context);
      return undefined;
    }
    const client = await openEmulatorClient(input.flags.file, context);
    const body = input.flags.edit ? await editPayload(defaults, client, context) : defaults;
    const triggerResult = await client.call(fireActivity, { body }).catch(suggestListener);
    const deliveries = await Promise.all(
      triggerResult.deliveries.map((id) => client.call(showDelivery, { params: { id } })),
    ).catch((error: unknown) => {
      const { composite_id, deliveries } = triggerResult;
      const completedStep = `Sent the webhooks of ${composite_id}: deliveries ${deliveries.join(", ")}`;
      throw new PartialFailureError(error, [completedStep], { next: ["webhooks", "deliveries"] });
    });
    await printReceiverResponses(triggerResult.composite_id, deliveries, await findUrls(deliveries, client), context);
    return deliveries.every(({ outcome }) => outcome === "delivered") ? undefined : "failed";
  },
});

/** Suggests a receiver for an activity without one. Throws other errors unchanged. */
function suggestListener(error: unknown): never {
  if (!(error instanceof ServiceError) || error.problem.code !== "no_subscriber") throw error;
  const hint = "Subscribe a receiver on this machine:";
  throw new PartialFailureError(error, [], { hint, next: ["webhooks", "listen"] });
}

function explainUnsent(outcome: WholeDelivery["outcome"], status: WholeDelivery["webhook_status"]): string {
  if (outcome === "waiting") return "waiting for the first attempt";
  return `${outcome === "skipped_not_allowed" ? "host not allowed" : status}: nothing was sent`;
}

async function listActivities({ output }: Context): Promise<undefined> {
  const rows = Object.entries(activityGroups).flatMap(([group, names]) =>
    names.map((activity) => ({ activity, group })),
  );
  await output.show(rows, { columns: ["activity", "group"], fields: ["activity", "group"] });
}

/** Finds the URLs of webhooks without an attempt, because only attempts contain a URL. */
async function findUrls(deliveries: readonly WholeDelivery[], client: Client) {
  if (deliveries.every(({ attempts }) => attempts.length > 0)) return new Map<number, string>();
  return new Map((await client.call(listControlWebhooks)).map(({ id, url }) => [id, url] as const));
}

async function printReceiverResponses(
  contract: string,
  deliveries: readonly WholeDelivery[],
  urls: ReadonlyMap<number, string>,
  { output }: Context,
): Promise<void> {
  const rows = deliveries.map(({ id, webhook_id, activity, outcome, attempts, ...delivery }) => {
    const last = attempts.at(-1);
    return {
      delivery: id,
      webhook_id,
      activity,
      contract,
      url: last?.url ?? urls.get(webhook_id) ?? null,
      status: last?.status ?? null,
      response: last
        ? (last.error?.message ?? `status ${last.status}`)
        : explainUnsent(outcome, delivery.webhook_status),
      duration_ms: last?.duration_ms ?? null,
      outcome,
      status_text: delivery.status_text,
      next_attempt_at: delivery.next_attempt_at,
      response_body: last?.response_body ?? null,
    };
  });
  await output.show(rows, {
    columns: [
      "delivery",
      "webhook_id",
      { name: "url", shrinkPriority: 1, minWidth: 12, omits: "start" },
      { name: "response", shrinkPriority: 2, minWidth: 10, purpose: true },
      { name: "status_text", shrinkPriority: 3, minWidth: 16, purpose: true },
      "next_attempt_at",
    ],
  });
}

export const commands: readonly Command[] = [webhooksTrigger];
