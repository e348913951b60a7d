import type { Fail } from "../../src/api/failures.ts";
import { succeeded } from "../../src/api/webhook-health/attempts.ts";
import { isUnsent } from "../../src/api/webhook-health/standing.ts";
import { type Delivery, deliveries } from "../webhooks/deliveries.ts";
import { type Logged, resend, showDelivery } from "../webhooks/log.ts";
import { subscriptions } from "../webhooks/subscriptions.ts";
import { listedRecords } from "./deliveries.ts";
import type { ControlWorld } from "./world.ts";

/** A call sends so many at most, and begins none after so much time on the wall. */
const mostAtOnce = 100;
const longestMs = 20_000;

type World = Pick<ControlWorld, "store" | "clock" | "runner" | "wall"> & { readonly fail: Fail<"no-such-webhook"> };

/** Oldest first, one after another: whoever is not there for one is spared the others. */
export async function resendAll(id: number, { store, clock, runner, wall, fail }: World) {
  const unsent = await store.read(async (view) => {
    const webhook = (await view.get(subscriptions, id)) ?? fail("no-such-webhook", { id });
    const all = await view.list(deliveries, { by: "webhook", equals: id });
    return all.filter((row) => isUnsent({ ...row, webhook_status: webhook.status })).sort(oldestFirst);
  });
  const begun = wall.now();
  const made: Logged[] = [];
  let arrived = 0;
  for (const { id: number } of unsent.slice(0, mostAtOnce)) {
    if (wall.now() - begun > longestMs) break;
    const asked = await store.transaction("emulator-webhooks.resend", async (tx) => {
      const delivery = await tx.get(deliveries, number);
      return delivery && { outcome: runner.outcomeOf(resend(tx, delivery, clock.now()).id) };
    });
    await asked?.outcome;
    const logged = await store.read((view) => showDelivery(view, number));
    if (!logged) continue;
    made.push(logged);
    const last = logged.attempts.at(-1);
    if (!last?.resend || !succeeded(last)) break;
    arrived += 1;
  }
  return { items: await store.read((view) => listedRecords(view, made)), left: unsent.length - arrived };
}

const oldestFirst = (a: Delivery, b: Delivery): number => a.created_at - b.created_at || a.id - b.id;
