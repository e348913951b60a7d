import type { Fail } from "../../src/api/failures.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import type { Store } from "../store/port.ts";
import { type Subscription, subscriptions, switchSubscription } from "../webhooks/subscriptions.ts";
import type { ControlHandlers } from "./world.ts";

export const controlWebhookHandlers = {
  "emulator-webhooks.list": (_, { store }) =>
    store.read(async (view) => (await view.list(subscriptions)).map(webhookRecord)),

  "emulator-webhooks.enable": ({ params }, call) => switched(call, params.id, true),

  "emulator-webhooks.disable": ({ params }, call) => switched(call, params.id, false),
} satisfies ControlHandlers;

interface Call {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly fail: Fail<"no-such-webhook">;
}

const switched = ({ store, clock, fail }: Call, id: number, on: boolean) =>
  store.transaction(on ? "emulator-webhooks.enable" : "emulator-webhooks.disable", async (tx) =>
    webhookRecord((await switchSubscription(tx, id, on, clock.now())) ?? fail("no-such-webhook", { id })),
  );

function webhookRecord({
  created_at,
  disabled,
  custom_headers,
  description: _,
  created_by: __,
  ...rest
}: Subscription) {
  return {
    ...rest,
    custom_headers: Object.keys(custom_headers),
    disabled_at: disabled && isoMillis(disabled.at),
    disabled_by: disabled?.by ?? null,
    created_at: isoMillis(created_at),
  };
}
