import { followEvents } from "../../../api/emulator/console.ts";
import { enableWebhook, listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { failuresUntilDisabled } from "../../../api/webhook-retries.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { NetworkError, ServiceError } from "../../../client/errors.ts";
import type { Context } from "../../command.ts";
import type { EventOf } from "../../connection/follow.ts";
import { isRefused } from "./registration.ts";

type Webhook = { readonly id: number; readonly url: string };

interface WatchOptions {
  readonly forwardTo: string | undefined;
  readonly shouldEnable: boolean;
  /** Called when the webhook no longer exists. Watching stops then. Callers that subscribe again set it. */
  readonly onDeleted?: (() => void) | undefined;
}

const timeoutMs = 3_000;
const emulatorProbeMs = 1_000;
/** Interval of checks for a restarted app, which can refuse connections only briefly. */
const appProbeMs = 200;

/**
 * Reports why a listener no longer gets deliveries: its webhook was disabled or deleted, or its emulator has ended.
 * Only an emulator provides this information.
 */
export async function watchSubscription(webhook: Webhook, options: WatchOptions, context: Context): Promise<void> {
  const emulator = await connectToEmulator(context).catch(() => undefined);
  if (!emulator) return;
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const onDeleted = options.onDeleted && (() => ended.abort());
  const watch = new SubscriptionWatch(webhook, { ...options, onDeleted }, context, emulator, signal);
  // The emulator of this folder can differ from the service in use.
  if ((await watch.findWebhook().catch(() => undefined)) === undefined) return;
  const watching = watch
    .run()
    .catch(async (error: unknown) => {
      if (signal.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      await context.output.warn(`Webhook ${webhook.id} is no longer watched: ${why}`);
    })
    .finally(() => {
      if (!context.signal.aborted) options.onDeleted?.();
    });
  context.onEnd(() => {
    ended.abort();
    return watching;
  });
}

interface RunningEmulator {
  readonly client: Client;
  readonly url: string;
  readonly token: string | undefined;
}

/** Finds the running emulator if its address or token differs from `before`. Rejects if none runs. */
async function connectToEmulator(context: Context, before?: RunningEmulator): Promise<RunningEmulator> {
  const { baseUrls, credentials } = await context.target("emulator");
  const [url, token] = [String(baseUrls.emulator), credentials.controlToken];
  if (before?.url === url && before.token === token) return before;
  return { url, token, client: await context.client("emulator", { connections: 2 }) };
}

class SubscriptionWatch {
  readonly #webhook: Webhook;
  readonly #options: WatchOptions;
  readonly #context: Context;
  readonly #signal: AbortSignal;
  #emulator: RunningEmulator;
  #status = "ACTIVE";

  constructor(
    webhook: Webhook,
    options: WatchOptions,
    context: Context,
    emulator: RunningEmulator,
    signal: AbortSignal,
  ) {
    this.#webhook = webhook;
    this.#options = options;
    this.#context = context;
    this.#emulator = emulator;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    do await this.#follow();
    while (!this.#signal.aborted && (await this.#waitUntilBack()));
  }

  async #follow(): Promise<void> {
    const onMissed = () => void this.#check().catch(() => {});
    try {
      const call = CheckedCall.check(followEvents);
      const stream = await this.#emulator.client.send(call, {
        signal: this.#signal,
        silenceMs: 0,
        retries: 0,
        onMissed,
      });
      await this.#check();
      for await (const event of stream.value as AsyncIterable<EventOf<typeof followEvents>>) {
        if (this.#isRelevant(event)) await this.#check();
      }
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
    }
  }

  #isRelevant(event: EventOf<typeof followEvents>): boolean {
    if (event.event === "delivery") {
      return event.delivery.webhook_id === this.#webhook.id && event.delivery.webhook_status !== this.#status;
    }
    // These operations can enable, disable or delete the webhook.
    return event.event === "state" || (event.event === "request" && /webhooks/.test(event.request.operation ?? ""));
  }

  async findWebhook() {
    const all: ResultOf<typeof listControlWebhooks> = await this.#emulator.client.call(
      listControlWebhooks,
      {},
      { signal: this.#signal, retries: 0, timeoutMs },
    );
    return all.find(({ id, url }) => id === this.#webhook.id && url === this.#webhook.url);
  }

  async #check(): Promise<void> {
    const status = (await this.findWebhook())?.status ?? "DELETED";
    if (status === this.#status) return;
    this.#status = status;
    const { id } = this.#webhook;
    const enable = `svc emulator webhooks enable ${id}`;
    if (status === "ACTIVE") {
      const resend = `To resend undelivered deliveries: svc emulator webhooks resend ${id}`;
      return this.#report("webhook_enabled", `Webhook ${id} is enabled again. ${resend}`);
    }
    if (status === "DELETED") {
      const resubscribeHint = "To subscribe again, run svc webhooks listen again.";
      const next = this.#options.onDeleted ? "Another webhook is created." : resubscribeHint;
      await this.#report("webhook_deleted", `Webhook ${id} was deleted. ${next}`);
      return this.#options.onDeleted?.();
    }
    if (status === "DISABLED_BY_USER") {
      return this.#report("webhook_disabled", `Webhook ${id} was disabled by a user. To enable it: ${enable}`);
    }
    const { forwardTo, shouldEnable } = this.#options;
    const disabled = `Webhook ${id} is disabled after ${failuresUntilDisabled} consecutive failures.`;
    if (forwardTo === undefined || !shouldEnable) {
      return this.#report("webhook_disabled", `${disabled} To enable it: ${enable}`);
    }
    const isDown = await isRefused(forwardTo);
    const condition = isDown ? "accepts connections" : "has restarted";
    const alternative = isDown ? "" : `, or after ${enable}`;
    await this.#report(
      "webhook_disabled",
      `${disabled} It will be enabled again when ${forwardTo} ${condition}${alternative}.`,
    );
    void this.#enableOnceBack(forwardTo, isDown).catch(() => {});
  }

  /** An app that returns errors has to restart first. Only a delivery shows whether the app has recovered. */
  async #enableOnceBack(forwardTo: string, isDown: boolean): Promise<void> {
    for (let wasDown = isDown; this.#status === "DISABLED_BY_ERROR"; ) {
      await this.#context.host.wall.sleep(appProbeMs, this.#signal);
      if (this.#signal.aborted) return;
      const isRefusing = await isRefused(forwardTo);
      if (wasDown && !isRefusing) {
        await this.#context.output.warn(`${forwardTo} accepts connections again.`);
        await this.#emulator.client.call(enableWebhook, { params: { id: this.#webhook.id } }, { signal: this.#signal });
        return;
      }
      wasDown ||= isRefusing;
    }
  }

  /**
   * Waits until the emulator responds. Resolves with false if another emulator uses its address and rejects the
   * credentials.
   */
  async #waitUntilBack(): Promise<boolean> {
    const ended = `The emulator at ${this.#emulator.url} has ended. To start it again`;
    await this.#report("emulator_ended", `${ended}: svc emulator start`);
    for (;;) {
      await this.#context.host.wall.sleep(emulatorProbeMs, this.#signal);
      if (this.#signal.aborted) return false;
      try {
        this.#emulator = await connectToEmulator(this.#context, this.#emulator);
        await this.findWebhook();
        await this.#report("emulator_back", `The emulator at ${this.#emulator.url} is back.`);
        return true;
      } catch (error) {
        if (!(error instanceof ServiceError && error.status === 401)) continue;
        const resubscribeHint = "To subscribe to it, run svc webhooks listen again.";
        const next = this.#options.onDeleted ? "A webhook is created there." : resubscribeHint;
        await this.#report("webhook_deleted", `Another emulator is now running at ${this.#emulator.url}. ${next}`);
        return false;
      }
    }
  }

  async #report(type: string, line: string): Promise<void> {
    const { output } = this.#context;
    await output.warn(line);
    if (output.format !== "table") await output.printDocument({ type, webhook_id: this.#webhook.id });
  }
}
