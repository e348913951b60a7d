import { useSignal } from "@preact/signals";
import type { OperationInput } from "../api/operations.ts";
import { Action, pressAction } from "../parts/action.tsx";
import { webhooks } from "../state/deliveries.ts";

type Fault = OperationInput<"faults.add">["body"];

const kinds: readonly { readonly words: string; readonly fault: Fault }[] = [
  { words: "Respond 503 to requests", fault: { direction: "incoming", status: 503 } },
  { words: "Respond 429 to requests", fault: { direction: "incoming", status: 429 } },
  { words: "Delay requests by 2 seconds", fault: { direction: "incoming", latency_ms: 2_000 } },
  { words: "Close connections without a response", fault: { direction: "incoming", reset: true } },
  { words: "Truncate responses", fault: { direction: "incoming", truncated: true } },
  { words: "Send webhooks twice", fault: { direction: "outgoing", effect: "duplicate" } },
  { words: "Delay webhooks", fault: { direction: "outgoing", effect: "delay" } },
  { words: "Reorder webhooks", fault: { direction: "outgoing", effect: "reorder" } },
  { words: "Drop webhooks", fault: { direction: "outgoing", effect: "drop" } },
  { words: "Change webhooks after signing", fault: { direction: "outgoing", effect: "tamper" } },
  { words: "Sign webhooks with another key", fault: { direction: "outgoing", effect: "wrong_key" } },
];

/** A form for the usual trouble; the command has more to choose from. */
export function NewFault() {
  const kind = useSignal(0);
  const count = useSignal("1");
  const whom = useSignal("");
  const { fault } = kinds[kind.value]!;
  const isIncoming = fault.direction === "incoming";
  const number = Number(count.value);
  const isCounted = /^\d{1,9}$/.test(count.value);
  const body: Fault = {
    ...fault,
    ...(number > 0 ? { count: number } : {}),
    ...(whom.value === "" ? {} : isIncoming ? { operation: whom.value } : { webhook: Number(whom.value) }),
  };
  return (
    <form class="card" aria-label="Add a fault" onSubmit={pressAction}>
      <h2>Add a fault</h2>
      <div class="fields">
        <label>
          Effect
          <select
            value={String(kind.value)}
            onChange={({ currentTarget }) => {
              kind.value = Number(currentTarget.value);
              whom.value = "";
            }}
          >
            {kinds.map(({ words }, at) => (
              <option key={words} value={String(at)}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {isIncoming ? (
          <label>
            Operation
            <input
              value={whom.value}
              placeholder="contracts.create (default: any)"
              onInput={({ currentTarget }) => {
                whom.value = currentTarget.value.trim();
              }}
            />
          </label>
        ) : (
          <label>
            Webhook
            <select
              value={whom.value}
              onChange={({ currentTarget }) => {
                whom.value = currentTarget.value;
              }}
            >
              <option value="">any</option>
              {webhooks.value?.map(({ id, title }) => (
                <option key={id} value={String(id)}>
                  {id} {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Count
          <input
            type="number"
            min="0"
            value={count.value}
            aria-invalid={!isCounted}
            aria-describedby="how-often"
            onInput={({ currentTarget }) => {
              count.value = currentTarget.value;
            }}
          />
        </label>
        <Action
          op="faults.add"
          input={{ body }}
          kind="primary"
          disabled={!isCounted}
          message={({ id }) => `Fault ${id} is added`}
        >
          Add fault
        </Action>
      </div>
      {/* Without one, Enter in a form of several fields sends nothing. */}
      <input type="submit" hidden />
      <p class="muted" id="how-often">
        {!isCounted && <span class="invalid">The count must be a whole number. </span>}0: until it is removed. The
        command has more to choose from: svc emulator fault add --help
      </p>
    </form>
  );
}
