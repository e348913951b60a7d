import { readClock } from "./clock.ts";
import { readDeliveries, readWebhooks } from "./deliveries.ts";
import { readRequests } from "./requests.ts";
import { readStanding } from "./standing.ts";
import { touchAll, versionOf } from "./topics.ts";
import { readFaults } from "./webhook-health.ts";

const quietly = (reading: Promise<unknown>): void => void reading.catch(() => undefined);

/** Reads everything anew: at the beginning, and whenever what is shown may be of another state. */
export function readAll(): void {
  quietly(readClock());
  quietly(readStanding());
  quietly(readDeliveries());
  quietly(readRequests());
  quietly(readFaults());
  touchAll();
}

/** Counters of subscriptions change with each attempt, and no event tells them. */
export const followWebhooks = (): void => {
  versionOf("deliveries").subscribe(() => quietly(readWebhooks()));
};
