import { readAll } from "../state/act.ts";
import { setClock } from "../state/clock.ts";
import { type Delivery, deliveries, mergeDeliveries } from "../state/deliveries.ts";
import { mergeRequests } from "../state/requests.ts";
import { markChanged } from "../state/route.ts";
import { faults } from "../state/webhook-health.ts";
import type { EmulatorEvent } from "./stream.ts";

/** Changes what is shown by what went on. */
export function applyEvents(events: readonly EmulatorEvent[]): void {
  const changed: Delivery[] = [];
  for (const event of events) {
    switch (event.event) {
      case "begin":
        break;
      case "resync":
      case "state":
        readAll();
        break;
      case "clock":
        setClock(event.clock);
        break;
      case "delivery":
        changed.push(...withAttempt(event.delivery, changed));
        markChanged("deliveries");
        break;
      case "request":
        mergeRequests([event.request]);
        markChanged("requests");
        break;
      case "contract":
        markChanged("contracts");
        break;
      case "email":
        markChanged("emails");
        break;
      case "device":
        markChanged("devices");
        break;
      case "faults":
        faults.value = event.faults;
        markChanged("faults");
        break;
      case "snapshots":
        markChanged("snapshots");
        break;
    }
  }
  if (changed.length > 0) mergeDeliveries(changed);
}

type Told = Extract<EmulatorEvent, { event: "delivery" }>["delivery"];

/** The delivery with the attempt that is told of; an attempt that is there already does not come twice. */
function withAttempt({ attempt, ...record }: Told, earlier: readonly Delivery[]): Delivery[] {
  const known = earlier.findLast(({ id }) => id === record.id) ?? deliveries.value.get(record.id);
  const attempts = known?.attempts ?? [];
  const isNew = attempt !== null && attempts.every(({ number }) => number !== attempt.number);
  return [{ ...record, attempts: isNew ? [...attempts, attempt] : attempts }];
}
