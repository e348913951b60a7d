import { counted, wordsOf } from "../format.ts";
import { Command } from "../parts/command-popover.tsx";
import { type Filter, FilteredRows } from "../parts/filtered-rows.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { Newest } from "../parts/newest.tsx";
import { State, toneOf } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { type Delivery, most, newestFirst, total, webhookOf } from "../state/deliveries.ts";
import { href } from "../state/route.ts";
import { answerOf } from "./explain.ts";

const filters: readonly Filter<Delivery>[] = [
  { name: "All", holds: () => true, none: "No webhook was sent" },
  { name: "Not arrived", holds: ({ outcome }) => outcome !== "delivered", none: "Everything arrived" },
  { name: "Still to come", holds: ({ next_attempt_at: next }) => next !== null, none: "Nothing is to come" },
];

/** Every webhook that was or is to be sent, newest first. */
export function DeliveryList() {
  return (
    <>
      <Head
        title="Deliveries"
        about="A webhook for each subscription that wants to know what happened; dates are virtual."
      />
      {total.value === 0 ? (
        <Empty title="No webhook was sent yet">
          <p>Subscribe to something, then let it happen:</p>
          <Command text="svc webhooks create --title Mine --url http://localhost:3000/hooks --only-for-activities CONTRACT_CREATED" />
        </Empty>
      ) : (
        <>
          <FilteredRows
            label="Deliveries"
            rows={newestFirst.value}
            filters={filters}
            areRead={total.value !== undefined}
            keyOf={({ id }) => id}
            draw={(row) => <Row {...row} />}
          />
          <Newest shown={most} of={total.value} what="delivery" many="deliveries" />
        </>
      )}
    </>
  );
}

function Row(delivery: Delivery) {
  const { id, activity, outcome, composite_id: contract, webhook_id, created_at, attempts } = delivery;
  const last = attempts.at(-1);
  return (
    <a class="row" href={href("deliveries", id)}>
      <span class="number id">{id}</span>
      <span class="main">
        <span class="title">{wordsOf(activity)}</span>
        <span class="muted sub">
          to {webhookOf(webhook_id)?.title ?? `webhook ${webhook_id}`}
          {contract && ` · ${contract}`}
        </span>
      </span>
      <span class="end">
        <State tone={toneOf(outcome)}>{wordsOf(outcome)}</State>
        <span class="muted sub">
          {last && `${answerOf(last)} · ${counted(attempts.length, "attempt")} · `}
          <VirtualTime at={last?.at ?? created_at} />
        </span>
      </span>
    </a>
  );
}
