import type { Fail } from "../../src/api/failures.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { Store } from "../store/port.ts";
import { type Subscription, subscriptions, switchSubscription } from "../webhooks/subscriptions.ts";
import type { ControlHandlers } from "./world.ts";

export const controlWebhookHandlers = {
  "emulator-webhooks.list": (_, { store }) =>
    store.read(async (view) => (await view.list(subscriptions)).map(webhookRecord)),

  "emulator-webhooks.enable": ({ params }, { store, fail }) => switched(store, params.id, true, fail),

  "emulator-webhooks.disable": ({ params }, { store, fail }) => switched(store, params.id, false, fail),
} satisfies ControlHandlers;

const switched = (store: Store, id: number, on: boolean, fail: Fail<"no-such-webhook">) =>
  store.transaction(on ? "emulator-webhooks.enable" : "emulator-webhooks.disable", async (tx) =>
    webhookRecord((await switchSubscription(tx, id, on)) ?? fail("no-such-webhook", { id })),
  );

function webhookRecord({ created_at, custom_headers, description: _, created_by: __, ...rest }: Subscription) {
  return { ...rest, custom_headers: Object.keys(custom_headers), created_at: isoMillis(created_at) };
}
