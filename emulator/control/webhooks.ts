import type { Fail } from "../../src/api/failures.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import { forbiddenUrl } from "../http/outgoing/receivers.ts";
import type { Store } from "../store/port.ts";
import { type Subscription, subscriptions, switchSubscription } from "../webhooks/subscriptions.ts";
import { receiverRules, type Settings } from "../world/settings.ts";
import type { ControlHandlers } from "./world.ts";

export const controlWebhookHandlers = {
  "emulator-webhooks.list": (_, { store, settings }) =>
    store.read(async (view) => (await view.list(subscriptions)).map((one) => webhookRecord(one, settings))),

  "emulator-webhooks.enable": ({ params }, call) => switched(call, params.id, true),

  "emulator-webhooks.disable": ({ params }, call) => switched(call, params.id, false),
} satisfies ControlHandlers;

interface Call {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly settings: Settings;
  readonly fail: Fail<"no-such-webhook">;
}

const switched = ({ store, clock, settings, fail }: Call, id: number, on: boolean) =>
  store.transaction(on ? "emulator-webhooks.enable" : "emulator-webhooks.disable", async (tx) =>
    webhookRecord((await switchSubscription(tx, id, on, clock.now())) ?? fail("no-such-webhook", { id }), settings),
  );

function webhookRecord(
  { created_at, disabled, custom_headers, description: _, created_by: __, ...rest }: Subscription,
  settings: Settings,
) {
  return {
    ...rest,
    custom_headers: Object.keys(custom_headers),
    disabled_at: disabled && isoMillis(disabled.at),
    disabled_by: disabled?.by ?? null,
    forbidden: forbiddenUrl(rest.url, receiverRules(settings))?.message ?? null,
    created_at: isoMillis(created_at),
  };
}
