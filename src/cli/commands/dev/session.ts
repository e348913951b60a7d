import { showClock } from "../../../api/emulator/clock.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import { waitUntilAborted } from "../../../base/concurrency.ts";
import type { Context } from "../../command.ts";
import type { WebhookReceiver } from "../../connection/webhook-receiver.ts";
import type { StyledLine } from "../../output/styled.ts";
import type { HandledDelivery } from "../webhooks/forwarding.ts";
import { isRefused, subscribe } from "../webhooks/registration.ts";
import { watchSubscription } from "../webhooks/subscription-watch.ts";
import { createKeyActionTools, formatKeyHelp, type KeyActionState, keyActions } from "./actions.ts";
import {
  followEmulator,
  formatAttemptLine,
  formatDeliveryLine,
  formatRequestLine,
  type SessionEvent,
  toAttemptEvent,
  toDeliveryEvent,
  toRequestEvent,
} from "./events.ts";
import { formatStatusParts, type ObservedClock, readKeys, type SessionScreen, type SessionWebhooks } from "./screen.ts";

export interface DevSessionOptions {
  readonly forwardTo: string | undefined;
  readonly activities: readonly string[];
  /** Whether the session reads keys and shows a status line. */
  readonly isInteractive: boolean;
}

const defaultResubscribeMs = 500;
const defaultStatusIntervalMs = 1_000;
const defaultProbeIntervalMs = 300;

export class DevSession {
  readonly #options: DevSessionOptions;
  /** Context of this folder's emulator. */
  readonly #context: Context;
  readonly #screen: SessionScreen;
  readonly #state: KeyActionState = {};
  #clock: ObservedClock | undefined;
  #webhooks: SessionWebhooks = [];
  #hasEnded = false;
  #acting: Promise<void> = Promise.resolve();

  constructor(options: DevSessionOptions, context: Context, screen: SessionScreen) {
    this.#options = options;
    this.#context = context;
    this.#screen = screen;
    context.onEnd(async () => {
      this.#hasEnded = true;
    });
  }

  get webhookId(): number | undefined {
    return this.#state.webhookId;
  }

  get #isAppDown(): boolean {
    return this.#state.closedAddress !== undefined;
  }

  /** Width of the terminal. Undefined in a pipe. */
  get #columns(): number | undefined {
    return this.#options.isInteractive ? this.#context.host.stdout.columns : undefined;
  }

  get #isJson(): boolean {
    return this.#context.output.format !== "table";
  }

  /** Prints a document for programs, or a line for users. */
  async #showEvent(value: object, line?: StyledLine): Promise<void> {
    if (this.#isJson) await this.#context.output.printDocument(value);
    else if (line !== undefined) await this.#screen.print(line);
  }

  /** Creates the webhook of the session. Creates another webhook if the first one is deleted. */
  async subscribe(receiver: WebhookReceiver): Promise<void> {
    const { activities, forwardTo } = this.#options;
    const id = await subscribe(this.#context, { url: receiver.url, activities, title: "svc dev" });
    if (id === undefined) return;
    this.#state.webhookId = id;
    const onDeleted = () => void this.#subscribeAgain(receiver);
    await watchSubscription({ id, url: receiver.url }, { app: forwardTo, onDeleted }, this.#context);
  }

  async #subscribeAgain(receiver: WebhookReceiver): Promise<void> {
    const { host, signal } = this.#context;
    while (!this.#hasEnded && !signal.aborted) {
      try {
        await this.subscribe(receiver);
        await this.#screen.showNotice(`Webhook ${this.#state.webhookId} is subscribed.`);
        return await this.#showEvent({ type: "subscribed", webhook_id: this.#state.webhookId });
      } catch {
        await host.wall.sleep(defaultResubscribeMs, signal);
      }
    }
  }

  async onDelivery(delivery: HandledDelivery): Promise<void> {
    await this.#showEvent(toDeliveryEvent(delivery), formatDeliveryLine(delivery, this.#columns));
    if (delivery.forwardResult && "error" in delivery.forwardResult) await this.#checkApp();
  }

  /** Checks the forwarding target. If it refuses connections, repeats the check until it accepts them. */
  async #checkApp(): Promise<void> {
    const { forwardTo } = this.#options;
    if (forwardTo === undefined || this.#isAppDown || !(await isRefused(forwardTo))) return;
    // A concurrent check can finish first.
    if (this.#isAppDown) return;
    this.#state.closedAddress = forwardTo;
    this.#reportApp("app_down", `${forwardTo} refuses connections: webhooks fail until your app runs there.`);
    void this.#waitForApp(forwardTo);
  }

  async #waitForApp(forwardTo: string): Promise<void> {
    const { host, signal } = this.#context;
    do await host.wall.sleep(defaultProbeIntervalMs, signal);
    while (!signal.aborted && (await isRefused(forwardTo)));
    if (signal.aborted) return;
    this.#state.closedAddress = undefined;
    this.#reportApp("app_up", `${forwardTo} accepts connections again.`);
  }

  #reportApp(type: "app_down" | "app_up", line: string): void {
    void this.#screen.showNotice(line);
    void this.#showEvent({ type, forward_to: this.#options.forwardTo });
    void this.#drawStatus();
  }

  /** Resolves when the user quits. Without a keyboard, resolves when the run ends. */
  async run(): Promise<void> {
    const { signal } = this.#context;
    await this.#checkApp();
    const runEnd = new AbortController();
    const context = { ...this.#context, signal: AbortSignal.any([signal, runEnd.signal]) };
    const following = followEmulator(context, (event) => this.#onEvent(event));
    const statusLoop = this.#options.isInteractive ? this.#runStatusLoop(context.signal) : undefined;
    try {
      await this.#refresh().catch(() => {});
      if (this.#options.isInteractive) await readKeys(context, (key) => this.#onKey(key));
      else await waitUntilAborted(signal);
    } finally {
      this.#hasEnded = true;
      runEnd.abort();
      await Promise.all([following, statusLoop]);
    }
  }

  #onKey(key: string): void {
    if (key === "?") return void this.#screen.print(...formatKeyHelp());
    const action = keyActions[key];
    if (!action) return;
    const tools = createKeyActionTools(this.#state, this.#context, (...lines) => this.#screen.print(...lines));
    // Actions run sequentially, because an action can need the result of the previous one.
    this.#acting = this.#acting.then(() =>
      action.perform(tools).catch((error: unknown) => this.#screen.print(`error: ${(error as Error).message}`)),
    );
  }

  #onEvent(event: SessionEvent): void {
    const columns = this.#columns;
    if (event.event === "clock") {
      this.#clock = { ...event.clock, seenAt: this.#context.host.wall.monotonicNow() };
      return void this.#drawStatus();
    }
    if (event.event === "contract") {
      this.#state.contract = event.ref;
      this.#state.contractStatus = event.contract.contract_status;
    }
    if (event.event === "request" && event.request.service !== "emulator") {
      void this.#showEvent(toRequestEvent(event.request), formatRequestLine(event.request, columns));
    }
    if (event.event === "delivery") this.#onAttempt(event, columns);
    if (["delivery", "state", "resync", "begin"].includes(event.event)) void this.#refresh().catch(() => {});
  }

  /** Shows an attempt. Tables omit successful ones to the session's webhook, because its receiver reports them. */
  #onAttempt({ at, delivery }: Extract<SessionEvent, { event: "delivery" }>, columns: number | undefined): void {
    const isOwn = delivery.webhook_id === this.#state.webhookId;
    if (isOwn) this.#state.deliveryId = delivery.id;
    const hasArrived = delivery.outcome === "delivered";
    const isNew = delivery.attempt === null && delivery.outcome === "waiting";
    if (isNew || (isOwn && hasArrived && !this.#isJson)) return;
    void this.#showEvent(toAttemptEvent(at, delivery), formatAttemptLine(at, delivery, columns));
  }

  async #refresh(): Promise<void> {
    if (!this.#options.isInteractive || this.#hasEnded) return;
    const { host } = this.#context;
    const client = await this.#context.client("emulator", { connections: 1 });
    const once = { retries: 0 };
    this.#webhooks = await client.call(listControlWebhooks, {}, once);
    this.#clock = { ...(await client.call(showClock, {}, once)), seenAt: host.wall.monotonicNow() };
    await this.#drawStatus();
  }

  async #runStatusLoop(signal: AbortSignal): Promise<void> {
    const { host } = this.#context;
    while (!signal.aborted) {
      await host.wall.sleep(defaultStatusIntervalMs, signal);
      if (!signal.aborted && this.#clock?.mode === "real") await this.#drawStatus();
    }
  }

  async #drawStatus(): Promise<void> {
    if (this.#hasEnded) return;
    const now = this.#context.host.wall.monotonicNow();
    await this.#screen.setStatus(formatStatusParts(this.#clock, this.#webhooks, this.#isAppDown, now));
  }
}
