import { formatElapsed, isolateText, pluralize } from "../format.ts";
import { VirtualTime } from "../parts/messages.tsx";
import { clock, nowSeconds } from "../state/clock.ts";
import {
  type Delivery,
  deliveries,
  findWebhook,
  isToBeSkipped,
  plannedDeliveries,
  totalDeliveries,
} from "../state/deliveries.ts";
import { buildHref } from "../state/route.ts";

/**
 * Shows the next due entry and the time until then, by both clocks. It always has three lines, so that nothing shifts.
 */
export function NextDue() {
  const { next_due: due, pending, mode, speed } = clock.value!;
  if (due === null) {
    return (
      <div class="due">
        <div class="when">
          <p class="label">Next due</p>
          <p class="big muted">Nothing</p>
        </div>
        <p class="muted what">No webhooks or e-mails are scheduled.</p>
      </div>
    );
  }
  const left = Math.max(0, Date.parse(due) - nowSeconds.value);
  const delivery = plannedDeliveries.value.find(({ next_attempt_at }) => next_attempt_at === due);
  const wall = formatWallTime(mode, speed, left);
  return (
    <div class="due">
      <div class="when">
        <p class="label">
          Next due
          {pending > 1 && <span class="more">{` · ${pluralize(pending - 1, "more entry", "more entries")}`}</span>}
        </p>
        <p class="big number">
          <span>{left < 1_000 ? "now" : `in ${formatElapsed(left)}`}</span>
          <span class="wall" title={wall}>
            {wall}
          </span>
        </p>
      </div>
      <p class="muted what" title={delivery && `${describeAttempt(delivery)} ${describeTarget(delivery)}`}>
        {delivery ? (
          <>
            <span class="at">
              <VirtualTime at={due} />
              {" · "}
            </span>
            <a href={buildHref("deliveries", delivery.id)}>{describeAttempt(delivery)}</a> {describeTarget(delivery)}
          </>
        ) : (
          <>
            <VirtualTime at={due} />
            {deliveries.value.size >= (totalDeliveries.value ?? 1) && " · an e-mail delivery or a signature"}
          </>
        )}
      </p>
    </div>
  );
}

const describeAttempt = ({ id, attempts }: Delivery): string =>
  `attempt ${attempts.filter(({ resend }) => !resend).length + 1} of delivery ${id}`;

const describeTarget = (delivery: Delivery): string =>
  isToBeSkipped(delivery)
    ? "will be skipped"
    : `to ${isolateText(findWebhook(delivery.webhook_id)?.title ?? `webhook ${delivery.webhook_id}`)}`;

const formatWallTime = (mode: string, speed: number, left: number): string => {
  if (mode === "manual") return "when you advance the clock";
  if (mode === "auto") return "immediately";
  return speed === 1 ? "" : `${formatElapsed(left / speed)} on your clock`;
};
