import { counted, lengthOf } from "../format.ts";
import { Name } from "../parts/name.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { clock, nowSeconds } from "../state/clock.ts";
import { type Delivery, isToBeSkipped, planned, webhookOf } from "../state/deliveries.ts";
import { href } from "../state/route.ts";

/** What is due next, and how long that is, by both clocks: always of three lines, so that nothing moves with it. */
export function NextDue() {
  const { next_due: due, pending, mode, speed } = clock.value!;
  if (due === null) {
    return (
      <div class="due">
        <div class="when">
          <p class="label">Next due</p>
          <p class="big muted">Nothing waits</p>
        </div>
        <p class="muted what">No webhook and no e-mail is to come.</p>
      </div>
    );
  }
  const left = Math.max(0, Date.parse(due) - nowSeconds.value);
  const delivery = planned.value.find(({ next_attempt_at }) => next_attempt_at === due);
  return (
    <div class="due">
      <div class="when">
        <p class="label">
          Next due
          {pending > 1 && <span class="more">{` · ${counted(pending - 1, "more waits", "more wait")}`}</span>}
        </p>
        <p class="big number">
          <span>{left === 0 ? "now" : `in ${lengthOf(left)}`}</span>
          <span class="wall">{inWallTime(mode, speed, left)}</span>
        </p>
      </div>
      <p class="muted what">
        {delivery ? (
          <>
            <span class="at">
              <VirtualTime at={due} />
              {" · "}
            </span>
            <Attempt {...delivery} />
          </>
        ) : (
          <VirtualTime at={due} />
        )}
      </p>
    </div>
  );
}

function Attempt(delivery: Delivery) {
  const { id, attempts, webhook_id } = delivery;
  const title = webhookOf(webhook_id)?.title ?? `webhook ${webhook_id}`;
  return (
    <>
      <a href={href("deliveries", id)}>
        attempt {attempts.filter(({ resend }) => !resend).length + 1} of delivery {id}
      </a>{" "}
      {isToBeSkipped(delivery) ? (
        "will be skipped"
      ) : (
        <>
          to <Name>{title}</Name>
        </>
      )}
    </>
  );
}

const inWallTime = (mode: string, speed: number, left: number): string => {
  if (mode === "manual") return "when you move time";
  if (mode === "auto") return "at once";
  return speed === 1 ? "" : `${lengthOf(left / speed)} on your clock`;
};
