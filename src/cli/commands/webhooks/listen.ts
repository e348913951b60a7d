import { resolve } from "node:path";
import { activities as allActivities } from "../../../api/activities.ts";
import { createDeferred, waitUntilAborted } from "../../../base/concurrency.ts";
import { formatSize } from "../../../base/quantities.ts";
import { pluralize } from "../../../base/text.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../../connection/webhook-receiver.ts";
import { maskSecrets } from "../../output/ci.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { CommandFailedError } from "../../process/failure.ts";
import {
  chooseResponse,
  formatListenedDelivery,
  forwardingFlags,
  type HandledDelivery,
  openDeliverySender,
  parseReceiverUrl,
  readForwardingFlags,
  summarizePost,
  verifyReceivedDelivery,
} from "./forwarding.ts";
import { isLocalService, subscribe } from "./registration.ts";
import { openSavedDeliveries, requireWritableFolder } from "./saved-deliveries.ts";
import { findOrFetchKey, keyFlag, signMessage } from "./signing-key.ts";
import { watchWebhook } from "./webhook-watch.ts";

const flags = [
  ...forwardingFlags,
  createIntegerFlag("port", "Port of the receiver; 0 chooses a free port", { min: 0, max: 65_535, default: 0 }),
  createTextFlag("public-url", "URL", "Address of this receiver for the service, such as a tunnel"),
  createSwitch("no-register", "Print the command that creates the webhook instead of creating it"),
  createSwitch("no-enable", "Do not enable the webhook again when the app is back"),
  createTextFlag("save", "DIR", "Save each delivery in this folder, or in a corpus that svc verify proxy records"),
  createIntegerFlag("count", "Stop after this many deliveries", { min: 1 }),
  createSwitch("print-secret", "Print the signing key, and exit"),
  keyFlag,
] as const satisfies readonly FlagSpec[];

const webhooksListen = defineCommand({
  words: ["webhooks", "listen"],
  summary: "Receive, verify and forward webhooks on this machine",
  description:
    "Starts a receiver and creates a webhook for it, if the service can reach this machine. Prints a line for each delivery, with the result of the signature check. With --forward-to, the raw bytes go to your app, and its response goes back. When the app refuses connections until the emulator disables the webhook, the listener enables it again once the app accepts connections. Ctrl-C ends the listener and deletes the webhook. With --json, each event is a line of JSON.",
  flags,
  examples: [
    ["Print deliveries and check their signatures", "webhooks listen"],
    ["Forward to your app, and save each delivery", "webhooks listen --forward-to localhost:3000/hooks --save hooks"],
    ["Wait for the next signature in a script", "webhooks listen --activities CONTRACT_SIGNED --count 1 --json"],
  ],
  async run(input, context) {
    const plan = createPlan(input, context);
    if (plan.folder !== undefined) await requireWritableFolder(plan.folder, "--save");
    const key = await findOrFetchKey(context, input);
    await maskSecrets(context.host, [key]);
    if (input.flags["print-secret"]) {
      return context.output.showOrPrint({ hmac_key: key }, key);
    }
    // An invalid key is reported now instead of at the first delivery.
    signMessage({ key, body: "", id: 1, at: 0 });
    await listen(plan, key, context);
    context.signal.throwIfAborted();
  },
});

type ListenPlan = ReturnType<typeof createPlan>;

function createPlan({ flags: flagValues }: CommandInputOf<typeof flags>, { host }: Context) {
  const { count, save, "public-url": publicUrl } = flagValues;
  return {
    ...readForwardingFlags(flagValues),
    port: flagValues.port ?? 0,
    publicUrl: publicUrl === undefined ? undefined : parseReceiverUrl(publicUrl, "--public-url"),
    register: flagValues["no-register"] !== true,
    enable: flagValues["no-enable"] !== true,
    folder: save === undefined ? undefined : resolve(host.cwd, save),
    count: count ?? Number.POSITIVE_INFINITY,
  };
}

/** Resolves when the run is interrupted, or after the requested number of deliveries. Rejects if one is not saved. */
async function listen(plan: ListenPlan, key: string, context: Context): Promise<void> {
  const { output, signal, host, onEnd } = context;
  const recording =
    plan.folder === undefined
      ? undefined
      : await (await import("../verify/recording.ts")).joinRecording(plan.folder, context);
  const savedDeliveries = plan.folder === undefined || recording ? undefined : await openSavedDeliveries(plan.folder);
  const poster = plan.forwardTo === undefined ? undefined : await openDeliverySender(context);
  const { promise: whenStopped, resolve: stop, reject: fail } = createDeferred();
  // A delivery can fail before the wait.
  whenStopped.catch(() => {});
  void waitUntilAborted(signal).then(stop);

  let number = 0;
  let finishedCount = 0;
  const receiver = await openWebhookReceiver({
    port: plan.port,
    signal,
    onTooLarge: (limit) => void output.warn(`Rejected a request larger than ${formatSize(limit)}`),
    onError: fail,
    respond: async (request) => {
      const { headers, body } = request;
      // Deliveries that arrive during the last one are rejected. Their sender retries them for the next listener.
      if (number >= plan.count) return { status: 503, body: "no more deliveries are accepted" };
      number += 1;
      const verified = await verifyReceivedDelivery(request, { number, nowMs: host.wall.now(), key });
      const activity = verified.activity ?? "UNKNOWN";
      const file = await savedDeliveries?.add(activity, { body, headers });
      const forwardResult = await poster?.post(plan.forwardTo!, { body, headers }, plan.extraHeaders);
      const response = chooseResponse(verified, forwardResult);
      const recordedFile = await recording?.add(activity, { ...request, status: response.status });
      const listenedDelivery: HandledDelivery = { ...verified, file: file ?? recordedFile ?? null, forwardResult };
      const { composite_id: _, forwardResult: forwarded, ...fields } = listenedDelivery;
      const event = { type: "delivery", ...fields, forwarded: summarizePost(forwarded) };
      await output.printEvent(event, ...formatListenedDelivery(listenedDelivery));
      finishedCount += 1;
      if (finishedCount === plan.count) stop();
      return response;
    },
  }).catch((error: NodeJS.ErrnoException) => {
    throw explainListenError(error, plan.port);
  });
  onEnd(() => receiver.close());
  const webhook = await subscribeReceiver(plan, receiver, context);
  if (webhook) await watchWebhook(webhook, { app: plan.enable ? plan.forwardTo : undefined }, context);
  if (output.format !== "table") {
    await output.printDocument({ type: "version", ui: "1.0" });
    await output.printDocument({ type: "ready", url: receiver.url, webhook_id: webhook?.id ?? null });
  }
  // The key of a real workspace is printed only on request, so that it does not stay in the scrollback.
  const keyText = (await isLocalService(context)) ? key : "to print it, run svc webhooks listen --print-secret";
  await output.note(`Webhook signing key: ${keyText}`);
  await output.note(`Listening on ${receiver.url} (press Ctrl-C to stop)`);
  await whenStopped;
}

async function subscribeReceiver(plan: ListenPlan, { url }: WebhookReceiver, context: Context) {
  const webhook = { url: plan.publicUrl ?? url, activities: plan.activities, title: "svc webhooks listen" } as const;
  const subscription = plan.register ? await subscribe(context, webhook) : undefined;
  if (subscription) {
    const count = pluralize(plan.activities.length, "activity", "activities");
    await context.output.note(`Webhook ${subscription.id} is subscribed to ${count}`);
    return subscription;
  }
  const names = plan.activities.length === allActivities.length ? ["CONTRACT_SIGNED"] : plan.activities;
  const activityFlags = names.flatMap((name) => ["--only-for-activities", name]);
  const words = ["webhooks", "create", "--title", "listen", "--url", "https://YOUR-TUNNEL/", ...activityFlags];
  const advice = `Expose ${url} through a tunnel and register it:`;
  await context.output.note(
    plan.register
      ? `No webhook was created, because the service cannot reach this machine. ${advice}`
      : `No webhook was created (--no-register). To receive events of a remote service, expose ${url} through a tunnel and register it:`,
  );
  await context.output.note(`  ${formatNextCommand(words, context)}`);
}

function explainListenError(error: NodeJS.ErrnoException, port: number): unknown {
  if (error.code !== "EADDRINUSE" && error.code !== "EACCES") return error;
  const reason = error.code === "EACCES" ? "requires more privileges" : "is taken";
  return new CommandFailedError("failed", "port_taken", `Port ${port} ${reason}.`, {
    hint: "Choose another port with --port, or omit --port for a free port.",
    cause: error,
  });
}

export const commands: readonly Command[] = [webhooksListen];
