import { useSignal } from "@preact/signals";
import type { OperationInput } from "../api/operations.ts";
import { Action, pressAction } from "../parts/action.tsx";
import { webhooks } from "../state/deliveries.ts";

type Fault = OperationInput<"faults.add">["body"];

const kinds: readonly { readonly words: string; readonly fault: Fault }[] = [
  { words: "Requests are answered 503", fault: { direction: "incoming", status: 503 } },
  { words: "Requests are answered 429", fault: { direction: "incoming", status: 429 } },
  { words: "Requests wait for two seconds", fault: { direction: "incoming", latency_ms: 2_000 } },
  { words: "Requests are cut off without an answer", fault: { direction: "incoming", reset: true } },
  { words: "Requests get half of the answer", fault: { direction: "incoming", truncated: true } },
  { words: "Webhooks come twice", fault: { direction: "outgoing", effect: "duplicate" } },
  { words: "Webhooks come late", fault: { direction: "outgoing", effect: "delay" } },
  { words: "Webhooks come out of order", fault: { direction: "outgoing", effect: "reorder" } },
  { words: "Webhooks do not come", fault: { direction: "outgoing", effect: "drop" } },
  { words: "Webhooks are changed after they are signed", fault: { direction: "outgoing", effect: "tamper" } },
  { words: "Webhooks are signed with another key", fault: { direction: "outgoing", effect: "wrong_key" } },
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
    <form class="card" aria-label="Script trouble" onSubmit={pressAction}>
      <h2>Script trouble</h2>
      <div class="fields">
        <label>
          What happens
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
            To which operation
            <input
              value={whom.value}
              placeholder="contracts.create; empty: any"
              onInput={({ currentTarget }) => {
                whom.value = currentTarget.value.trim();
              }}
            />
          </label>
        ) : (
          <label>
            To which webhook
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
          How often
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
          Add the fault
        </Action>
      </div>
      {/* Without one, Enter in a form of several fields sends nothing. */}
      <input type="submit" hidden />
      <p class="muted" id="how-often">
        {!isCounted && <span class="invalid">How often is a whole number. </span>}0: until it is removed. The command
        has more to choose from: svc emulator fault add --help
      </p>
    </form>
  );
}
