import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import type { Delivery } from "../../../api/webhook-health/attempts.ts";
import type { Client } from "../../../client/client.ts";

const pageSize = 500;

interface DeliveryLogOptions {
  readonly webhook?: number | undefined;
  readonly outcome?: Delivery["outcome"];
  readonly max?: number;
}

/**
 * Reads the deliveries of an emulator, newest first: all that match, or whole pages until there are `max`.
 * `isPartial` reports whether there are older ones.
 */
export async function readDeliveryLog(
  client: Client,
  { max = Number.POSITIVE_INFINITY, ...filter }: DeliveryLogOptions = {},
) {
  // A delivery that is created meanwhile moves the others, so that a page can repeat some.
  const deliveries = new Map<number, Delivery>();
  const limit = Math.min(pageSize, max);
  for (let offset = 0; ; offset += limit) {
    const { items, total } = await client.call(listDeliveries, { query: { ...filter, limit, offset } });
    for (const item of items) deliveries.set(item.id, item);
    const isPartial = items.length === limit && offset + items.length < total;
    if (!isPartial || deliveries.size >= max) return { deliveries: [...deliveries.values()], isPartial };
  }
}
