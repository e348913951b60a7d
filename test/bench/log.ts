import { collections } from "../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../emulator/store/memory-store.ts";
import { attempts, deliveries, webhookEvents } from "../../emulator/webhooks/deliveries.ts";
import { listDeliveries } from "../../emulator/webhooks/log.ts";
import { systemWallClock } from "../../src/base/clock.ts";
import { computeRatios, reportFigure, runAlternately } from "./support/measure.ts";

/** Measures a page of the delivery log by the number of rows. */
const page = { offset: 0, limit: 50 };

const createDeliveryListing = async (count: number) => {
  const store = openMemoryStore({ collections, wall: systemWallClock });
  await store.transaction("fill", (tx) => {
    const shared = { workspace_id: 1, activity: "CONTRACT_SIGNED", contract_id: 1, keep_until: null } as const;
    tx.put(webhookEvents, { ...shared, id: 1, at: 0, body: "{}", cause: null });
    for (let id = 1; id <= count; id += 1) {
      tx.put(deliveries, {
        ...shared,
        id,
        event_id: 1,
        webhook_id: id % 64,
        entry_id: id,
        outcome: "retrying",
        attempts: 1,
        failures: 1,
        next_attempt_at: 0,
        postponement: null,
        created_at: 0,
      });
      tx.put(attempts, {
        delivery_id: id,
        number: 1,
        resend: false,
        scheduled_number: 1,
        planned_at: 0,
        at: 0,
        wall_at: 0,
        cause: null,
        moved_by: null,
        fault: null,
        url: "http://127.0.0.1:9/",
        status: 500,
        error: null,
        duration_ms: 1,
        response_body: "",
      });
    }
  });
  return async () => {
    const begin = performance.now();
    for (let i = 0; i < 300; i += 1) {
      listDeliveries(store, {}, page);
      listDeliveries(store, { outcome: "retrying" }, page);
    }
    return performance.now() - begin;
  };
};

const [smallListing, many] = await runAlternately(7, [
  await createDeliveryListing(100),
  await createDeliveryListing(100_000),
]);
reportFigure("a page of the delivery log with 100,000 rows, against 100", computeRatios(many, smallListing), "<= 1.3");
