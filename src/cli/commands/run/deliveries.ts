import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Client } from "../../../client/client.ts";

export type ListedDelivery = ResultOf<typeof listDeliveries>["items"][number];

const pageSize = 500;

/** Lists all deliveries of an emulator, newest first. */
export async function listAllDeliveries(client: Client): Promise<readonly ListedDelivery[]> {
  // A delivery that is created meanwhile moves the others, so that a page can repeat some.
  const deliveries = new Map<number, ListedDelivery>();
  for (let offset = 0; ; offset += pageSize) {
    const { items } = await client.call(listDeliveries, { query: { limit: pageSize, offset } });
    for (const item of items) deliveries.set(item.id, item);
    if (items.length < pageSize) return [...deliveries.values()];
  }
}
