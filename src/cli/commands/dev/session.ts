import { showClock } from "../../../api/emulator/clock.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import { waitUntilAborted } from "../../../base/concurrency.ts";
import { pollEvery } from "../../../base/timing.ts";
import type { Context } from "../../command.ts";
import type { WebhookReceiver } from "../../connection/webhook-receiver.ts";
import type { StyledLine } from "../../output/styled.ts";
import type { HandledDelivery } from "../webhooks/forwarding.ts";
import { isRefused, subscribe } from "../webhooks/registration.ts";
import { watchWebhook } from "../webhooks/webhook-watch.ts";
import { createKeyHandler, type KeyActionState } from "./actions.ts";
import {
  type EventStream,
  followEmulator,
  formatAttemptLine,
  formatDeliveryLine,
  formatRequestLine,
  openEvents,
  type SessionEvent,
  toAttemptEvent,
  toDeliveryEvent,
  toRequestEvent,
} from "./events.ts";
import { formatStatusParts, type ObservedClock, readKeys, type SessionScreen, type SessionWebhooks } from "./screen.ts";

interface DevSessionOptions {
  readonly forwardTo: string | undefined;
  readonly activities: readonly string[];
  /** Whether the session reads keys and shows a status line. */
  readonly isInteractive: boolean;
}

const defaultResubscribeMs = 500;
const defaultStatusIntervalMs = 1_000;
const defaultProbeIntervalMs = 300;

/** Creates the session in the context of this folder's emulator. */
export function createDevSession(
  { forwardTo, activities, isInteractive }: DevSessionOptions,
  context: Context,
  screen: SessionScreen,
) {
  const { host, signal, output } = context;
  const isJson = output.format !== "table";
  const state: KeyActionState = {};
  let clock: ObservedClock | undefined;
  let webhooks: SessionWebhooks = [];
  const sessionEnd = new AbortController();
  const endSignal = AbortSignal.any([signal, sessionEnd.signal]);
  context.onEnd(async () => sessionEnd.abort());
  const sessionContext = { ...context, signal: endSignal };
  let events: EventStream | undefined;

  const isAppDown = (): boolean => state.closedAddress !== undefined;

  /** Returns the width of the terminal. Undefined in a pipe. */
  const getColumns = (): number | undefined => (isInteractive ? host.stdout.columns : undefined);

  /** Prints a document for programs, or a line for users. */
  async function showEvent(value: object, line?: StyledLine): Promise<void> {
    if (isJson) await output.printDocument(value);
    else if (line !== undefined) await screen.print(line);
  }

  /** Creates the webhook of the session. Creates another webhook if the first one is deleted. */
  async function subscribeReceiver(receiver: WebhookReceiver): Promise<void> {
    const webhook = await subscribe(context, { url: receiver.url, activities, title: "svc dev" });
    if (!webhook) return;
    state.webhookId = webhook.id;
    const onLost = () => void subscribeAgain(receiver);
    await watchWebhook(webhook, { app: forwardTo, onLost }, context);
  }

  async function subscribeAgain(receiver: WebhookReceiver): Promise<void> {
    while (!endSignal.aborted) {
      try {
        await subscribeReceiver(receiver);
        await screen.showNotice(`Webhook ${state.webhookId} is subscribed.`);
        return await showEvent({ type: "subscribed", webhook_id: state.webhookId });
      } catch {
        await host.wall.sleep(defaultResubscribeMs, endSignal);
      }
    }
  }

  async function onDelivery(delivery: HandledDelivery): Promise<void> {
    await showEvent(toDeliveryEvent(delivery), formatDeliveryLine(delivery, getColumns()));
    if (delivery.forwardResult && "error" in delivery.forwardResult) await checkApp();
  }

  /** Checks the forwarding target. If it refuses connections, repeats the check until it accepts them. */
  async function checkApp(): Promise<void> {
    if (forwardTo === undefined || isAppDown() || !(await isRefused(forwardTo))) return;
    // A concurrent check can finish first.
    if (isAppDown()) return;
    state.closedAddress = forwardTo;
    reportApp("app_down", `${forwardTo} refuses connections: webhooks fail until your app runs there.`);
    void waitForApp(forwardTo);
  }

  async function waitForApp(address: string): Promise<void> {
    do await host.wall.sleep(defaultProbeIntervalMs, endSignal);
    while (!endSignal.aborted && (await isRefused(address)));
    if (endSignal.aborted) return;
    state.closedAddress = undefined;
    reportApp("app_up", `${address} accepts connections again.`);
  }

  function reportApp(type: "app_down" | "app_up", line: string): void {
    void screen.showNotice(line);
    void showEvent({ type, forward_to: forwardTo });
    void drawStatus();
  }

  function onEvent(event: SessionEvent): void {
    if (event.event === "clock") {
      clock = { ...event.clock, seenAt: host.wall.monotonicNow() };
      return void drawStatus();
    }
    if (event.event === "contract") {
      state.contract = event.ref;
      state.contractStatus = event.contract.contract_status;
    }
    // Requests that the router forwards to the clusters repeat those to the router.
    if (event.event === "request" && event.request.service !== "emulator" && event.request.cause === undefined) {
      void showEvent(toRequestEvent(event.request), formatRequestLine(event.request, getColumns()));
    }
    if (event.event === "delivery") onAttempt(event);
    if (["delivery", "state", "resync", "begin"].includes(event.event)) void refresh().catch(() => {});
  }

  /** Shows an attempt. Tables omit successful ones to the session's webhook, because its receiver reports them. */
  function onAttempt({ at, delivery }: Extract<SessionEvent, { event: "delivery" }>): void {
    const isOwn = delivery.webhook_id === state.webhookId;
    if (isOwn) state.deliveryId = delivery.id;
    const hasArrived = delivery.outcome === "delivered";
    const isNew = delivery.attempt === null && delivery.outcome === "waiting";
    if (isNew || (isOwn && hasArrived && !isJson)) return;
    void showEvent(toAttemptEvent(at, delivery), formatAttemptLine(at, delivery, getColumns()));
  }

  async function refresh(): Promise<void> {
    if (!isInteractive || endSignal.aborted) return;
    const client = await context.client("emulator", { connections: 1 });
    const once = { retries: 0 };
    webhooks = await client.call(listControlWebhooks, {}, once);
    clock = { ...(await client.call(showClock, {}, once)), seenAt: host.wall.monotonicNow() };
    await drawStatus();
  }

  async function drawStatus(): Promise<void> {
    if (endSignal.aborted) return;
    await screen.setStatus(formatStatusParts(clock, webhooks, isAppDown(), host.wall.monotonicNow()));
  }

  /** Resolves when the user quits. Without a keyboard, resolves when the run ends. */
  async function run(): Promise<void> {
    await checkApp();
    const following = followEmulator(sessionContext, events, onEvent);
    const tick = async () => (clock?.mode === "real" ? drawStatus() : undefined);
    const stopTicks = isInteractive ? pollEvery(host.wall, defaultStatusIntervalMs, tick) : undefined;
    try {
      await refresh().catch(() => {});
      if (isInteractive) await readKeys(sessionContext, createKeyHandler(state, context, screen));
      else await waitUntilAborted(signal);
    } finally {
      sessionEnd.abort();
      await Promise.all([following, stopTicks?.()]);
    }
  }

  return {
    get webhookId(): number | undefined {
      return state.webhookId;
    },
    /** Creates the webhook, and opens the stream of events, so that none after the ready line is missed. */
    async subscribe(receiver: WebhookReceiver): Promise<void> {
      await subscribeReceiver(receiver);
      events = await openEvents(sessionContext);
    },
    onDelivery,
    run,
  };
}
