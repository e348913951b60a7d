import { useSignal } from "@preact/signals";
import { counted, grouped, wordsOf } from "../format.ts";
import { Command } from "../parts/command-popover.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { State, toneOf } from "../parts/state.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { Windowed } from "../parts/windowed.tsx";
import { type Delivery, most, newestFirst, total, webhookOf } from "../state/deliveries.ts";
import { href } from "../state/route.ts";
import { answerOf } from "./explain.ts";

const filters = [
  { name: "All", holds: () => true },
  { name: "Not arrived", holds: ({ outcome }: Delivery) => outcome !== "delivered" },
  { name: "Still to come", holds: ({ next_attempt_at: next }: Delivery) => next !== null },
] as const;

/** Every webhook that was or is to be sent, newest first. */
export function DeliveryList() {
  const chosen = useSignal(0);
  const all = newestFirst.value;
  const rows = all.filter(filters[chosen.value]!.holds);
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
          <fieldset class="filters" aria-label="Which deliveries">
            {filters.map(({ name, holds }, at) => (
              <button
                key={name}
                type="button"
                class="chip"
                aria-pressed={chosen.value === at}
                onClick={() => {
                  chosen.value = at;
                }}
              >
                {name} <span class="number">{grouped(all.filter(holds).length)}</span>
              </button>
            ))}
          </fieldset>
          {rows.length === 0 && <Empty title={chosen.value === 1 ? "Everything arrived" : "Nothing is to come"} />}
          <Windowed
            rows={rows}
            height={57}
            narrowHeight={80}
            label="Deliveries"
            keyOf={({ id }) => id}
            draw={(row) => <Row {...row} />}
          />
          {(total.value ?? 0) > most && (
            <p class="muted">
              The newest {counted(most, "delivery", "deliveries")} of {grouped(total.value!)}.
            </p>
          )}
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
