import { counted, lengthOf } from "../format.ts";
import { VirtualTime } from "../parts/time.tsx";
import { clock, nowSeconds } from "../state/clock.ts";
import { planned, webhookOf } from "../state/deliveries.ts";
import { href } from "../state/route.ts";

/** What is due next, and how long that is, by both clocks. */
export function NextDue() {
  const { next_due: due, pending, mode, speed } = clock.value!;
  if (due === null) {
    return (
      <div class="due">
        <p class="label">Next due</p>
        <p class="big muted">Nothing waits</p>
        <p class="muted">Webhooks, retries and e-mail reports to come would stand here.</p>
      </div>
    );
  }
  const left = Math.max(0, Date.parse(due) - nowSeconds.value);
  const delivery = planned.value.find(({ next_attempt_at }) => next_attempt_at === due);
  const title = delivery && (webhookOf(delivery.webhook_id)?.title ?? `webhook ${delivery.webhook_id}`);
  return (
    <div class="due">
      <p class="label">Next due</p>
      <p class="big number">
        {left === 0 ? "now" : `in ${lengthOf(left)}`}
        <span class="wall">{inWallTime(mode, speed, left)}</span>
      </p>
      <p class="muted what">
        <VirtualTime at={due} />
        {delivery && (
          <>
            {" · "}
            <a href={href("deliveries", delivery.id)}>
              attempt {delivery.attempts.filter(({ resend }) => !resend).length + 1} of delivery {delivery.id}
            </a>{" "}
            to {title}
          </>
        )}
        {pending > 1 && ` · ${counted(pending - 1, "more waits", "more wait")}`}
      </p>
    </div>
  );
}

const inWallTime = (mode: string, speed: number, left: number): string => {
  if (mode === "manual") return "when you move time";
  if (mode === "auto") return "at once";
  return speed === 1 ? "" : `${lengthOf(left / speed)} on your clock`;
};
