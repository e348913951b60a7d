import { readAll } from "../state/act.ts";
import { setClock } from "../state/clock.ts";
import { type Delivery, deliveries, takeDeliveries } from "../state/deliveries.ts";
import { takeRequests } from "../state/requests.ts";
import { touch } from "../state/route.ts";
import { faults } from "../state/webhook-health.ts";
import type { EmulatorEvent } from "./stream.ts";

/** Changes what is shown by what went on. */
export function apply(events: readonly EmulatorEvent[]): void {
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
        touch("deliveries");
        break;
      case "request":
        takeRequests([event.request]);
        touch("requests");
        break;
      case "contract":
        touch("contracts");
        break;
      case "email":
        touch("emails");
        break;
      case "device":
        touch("devices");
        break;
      case "faults":
        faults.value = event.faults;
        touch("faults");
        break;
      case "snapshots":
        touch("snapshots");
        break;
    }
  }
  if (changed.length > 0) takeDeliveries(changed);
}

type Told = Extract<EmulatorEvent, { event: "delivery" }>["delivery"];

/** The delivery with the attempt that is told of; an attempt that is there already does not come twice. */
function withAttempt({ attempt, ...record }: Told, earlier: readonly Delivery[]): Delivery[] {
  const known = earlier.findLast(({ id }) => id === record.id) ?? deliveries.value.get(record.id);
  const attempts = known?.attempts ?? [];
  const isNew = attempt !== null && attempts.every(({ number }) => number !== attempt.number);
  return [{ ...record, attempts: isNew ? [...attempts, attempt] : attempts }];
}
