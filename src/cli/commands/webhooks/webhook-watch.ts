import { followEvents } from "../../../api/emulator/console.ts";
import { watchDeliveries } from "../../../api/emulator/deliveries.ts";
import { enableWebhook, listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { failuresUntilDisabled } from "../../../api/webhook-retries.ts";
import { pollEvery } from "../../../base/timing.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { isUnauthorized, NetworkError, ServiceError } from "../../../client/errors.ts";
import type { Context } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { type CreatedWebhook, isRefused } from "./registration.ts";

type WatchedEvent = EventOf<typeof followEvents> | EventOf<typeof watchDeliveries>;

interface WatchOptions {
  /** URL of the app. A webhook that its failures disabled is enabled again when the app is back. */
  readonly app: string | undefined;
  /** Called when watching ends before the run: the webhook was deleted, or can no longer be watched. */
  readonly onLost?: (() => void) | undefined;
}

const timeoutMs = 3_000;
const emulatorProbeMs = 1_000;
const webhookPollMs = 3_000;
/** Interval of checks for a restarted app, which can refuse connections only briefly. */
const appProbeMs = 200;

interface RunningEmulator {
  readonly client: Client;
  readonly url: string;
  readonly token: string | undefined;
}

/**
 * Reports why a listener no longer gets deliveries: its webhook was disabled or deleted, or its emulator has ended.
 * Only an emulator provides this information.
 */
export async function watchWebhook(
  webhook: CreatedWebhook,
  { app, onLost }: WatchOptions,
  context: Context,
): Promise<void> {
  const { output, host } = context;
  const { wall } = host;
  const { id, url } = webhook;
  const enableCommand = `svc emulator webhooks enable ${id}`;
  const watchEnd = new AbortController();
  const signal = AbortSignal.any([context.signal, watchEnd.signal]);
  const firstEmulator = await connect().catch(() => undefined);
  if (!firstEmulator) return;
  let emulator = firstEmulator;
  let status = "ACTIVE";
  // The emulator of this folder can differ from the service in use.
  if ((await findWebhook().catch(() => undefined)) === undefined) return;
  const watching = run()
    .catch(async (error: unknown) => {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      await output.warn(`Webhook ${id} is no longer watched: ${reason}`);
    })
    .finally(() => {
      if (!context.signal.aborted) onLost?.();
    });
  context.onEnd(() => {
    watchEnd.abort();
    return watching;
  });

  /** Finds the running emulator if its address or token differs from `before`. Rejects if none runs. */
  async function connect(before?: RunningEmulator): Promise<RunningEmulator> {
    const { baseUrls, credentials } = await context.target("emulator");
    const [address, token] = [String(baseUrls.emulator), credentials.controlToken];
    if (before?.url === address && before.token === token) return before;
    const client = await context.client("emulator", { connections: 2 });
    // The watch ends before its client, whose end would look like that of the emulator.
    context.onEnd(async () => watchEnd.abort());
    return { url: address, token, client };
  }

  async function run(): Promise<void> {
    do await follow();
    while (!signal.aborted && (await waitUntilBack()));
  }

  async function follow(): Promise<void> {
    const onMissed = () => check().catch(() => {});
    let stopPolling: (() => Promise<void>) | undefined;
    try {
      const limits = { signal, silenceMs: 0, retries: 0, onMissed };
      const send = (call: CheckedCall) => emulator.client.send(call, limits);
      const stream = await send(CheckedCall.check(followEvents)).catch((error: unknown) => {
        if (!(error instanceof ServiceError && error.status === 403)) throw error;
        // The token of a workspace can follow deliveries only, not all events.
        stopPolling = pollEvery(wall, webhookPollMs, onMissed);
        return send(CheckedCall.check(watchDeliveries, { query: { webhook: id } }));
      });
      await check();
      for await (const event of stream.value as AsyncIterable<WatchedEvent>) {
        if (isRelevant(event)) await check();
      }
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
    } finally {
      await stopPolling?.();
    }
  }

  function isRelevant(event: WatchedEvent): boolean {
    if (!("event" in event)) return event.webhook_status !== status;
    if (event.event === "delivery") {
      return event.delivery.webhook_id === id && event.delivery.webhook_status !== status;
    }
    // These operations can enable, disable or delete the webhook.
    return event.event === "state" || (event.event === "request" && /webhooks/.test(event.request.operation ?? ""));
  }

  async function findWebhook() {
    const limits = { signal, retries: 0, timeoutMs };
    const all: ResultOf<typeof listControlWebhooks> = await emulator.client.call(listControlWebhooks, {}, limits);
    return all.find((candidate) => candidate.id === id && candidate.url === url);
  }

  async function check(): Promise<void> {
    const current = (await findWebhook())?.status ?? "DELETED";
    if (current === status) return;
    status = current;
    webhook.isDeleted = status === "DELETED";
    if (status === "ACTIVE") {
      const resend = `To resend undelivered deliveries: svc emulator webhooks resend ${id}`;
      return report("webhook_enabled", `Webhook ${id} is enabled again. ${resend}`);
    }
    if (status === "DELETED") {
      const resubscribeHint = "To subscribe again, run svc webhooks listen again.";
      const next = onLost ? "Another webhook is created." : resubscribeHint;
      await report("webhook_deleted", `Webhook ${id} was deleted. ${next}`);
      if (onLost) watchEnd.abort();
      return;
    }
    if (status === "DISABLED_BY_USER") {
      return report("webhook_disabled", `Webhook ${id} was disabled by a user. To enable it: ${enableCommand}`);
    }
    const disabledMessage = `Webhook ${id} is disabled after ${failuresUntilDisabled} consecutive failures.`;
    if (app === undefined) return report("webhook_disabled", `${disabledMessage} To enable it: ${enableCommand}`);
    const isDown = await isRefused(app);
    const moment = isDown ? "accepts connections" : `has restarted, or after ${enableCommand}`;
    await report("webhook_disabled", `${disabledMessage} It will be enabled again when ${app} ${moment}.`);
    void enableOnceBack(app, isDown).catch(() => {});
  }

  /** An app that returns errors has to restart first. Only a delivery shows whether the app has recovered. */
  async function enableOnceBack(app: string, isDown: boolean): Promise<void> {
    for (let wasDown = isDown; status === "DISABLED_BY_ERROR"; ) {
      await wall.sleep(appProbeMs, signal);
      if (signal.aborted) return;
      const isRefusing = await isRefused(app);
      if (wasDown && !isRefusing) {
        await emulator.client.call(enableWebhook, { params: { id } }, { signal });
        return check();
      }
      wasDown ||= isRefusing;
    }
  }

  /** Resolves with false if another emulator uses the address. Rejects if only the token has ended. */
  async function waitUntilBack(): Promise<boolean> {
    await findWebhook().catch((error: unknown) => {
      if (isUnauthorized(error)) throw error;
    });
    const endMessage = `The emulator at ${emulator.url} has ended. To start it again`;
    await report("emulator_ended", `${endMessage}: svc emulator start --detach`);
    for (;;) {
      await wall.sleep(emulatorProbeMs, signal);
      if (signal.aborted) return false;
      try {
        emulator = await connect(emulator);
        await findWebhook();
        await report("emulator_back", `The emulator at ${emulator.url} is back.`);
        return true;
      } catch (error) {
        if (!isUnauthorized(error)) continue;
        const resubscribeHint = "To subscribe to it, run svc webhooks listen again.";
        const next = onLost ? "A webhook is created there." : resubscribeHint;
        await report("webhook_deleted", `Another emulator is now running at ${emulator.url}. ${next}`);
        return false;
      }
    }
  }

  async function report(type: string, line: string): Promise<void> {
    await output.warn(line);
    if (output.format !== "table") await output.printDocument({ type, webhook_id: id });
  }
}
