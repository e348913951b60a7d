import { useSignal } from "@preact/signals";
import { callOperation } from "../api/call.ts";
import type { OperationInput, OperationResult } from "../api/operations.ts";
import { pluralize } from "../format.ts";
import { Action, pressAction } from "../parts/action.tsx";
import { bindValue, Empty, Head, markChosen, NotListedMessage, ProblemMessage, State } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { webhooks } from "../state/deliveries.ts";

type Fault = OperationResult<"faults.list">[number];

/** Lists scripted faults with their match counts, and has a form to add one. */
export function Faults({ id }: { readonly id: string | undefined }) {
  const { value: faults, problem } = useLoaded("", ["faults", "requests", "deliveries"], () =>
    callOperation("faults.list"),
  );
  const isMissing = id !== undefined && faults?.every((fault) => String(fault.id) !== id);
  return (
    <>
      <Head title="Faults" about="Scripted faults of incoming requests and outgoing webhooks." />
      {problem && <ProblemMessage problem={problem} />}
      {isMissing && <NotListedMessage subject={`fault ${id}`} all="faults" />}
      {faults?.length === 0 && !isMissing && (
        <Empty title="No faults">Add a fault to test how your program handles failures.</Empty>
      )}
      <ul class="cards">
        {faults?.map((fault) => (
          <li key={fault.id} {...markChosen(String(fault.id) === id)}>
            <div class="who">
              <strong>
                {fault.id}. {describeEffect(fault)}
              </strong>
              <span class="muted">{describeMatch(fault)}</span>
              <State tone={fault.hit > 0 ? "warn" : "none"}>{describeHits(fault)}</State>
            </div>
            <div class="actions">
              <Action
                op="faults.remove"
                input={{ params: { id: fault.id } }}
                name={`Remove fault ${fault.id}`}
                describe={() => `Fault ${fault.id} removed`}
              >
                Remove
              </Action>
            </div>
          </li>
        ))}
      </ul>
      <NewFault />
    </>
  );
}

function describeHits({ hit, matched, direction }: Fault): string {
  if (matched === 0) return "not matched yet";
  return `affected ${hit} of ${pluralize(matched, direction === "outgoing" ? "webhook" : "request")} that matched`;
}

function describeEffect({ direction, effect, delay, status, latency_ms, reset, truncated }: Fault): string {
  if (direction === "outgoing")
    return `Webhooks: ${(effect ?? "").replace("_", " ")}${delay === undefined ? "" : ` by ${delay}`}`;
  const parts = [
    latency_ms === undefined ? "" : `wait ${latency_ms} ms`,
    status === undefined ? "" : `respond ${status}`,
    reset ? "close the connection" : "",
    truncated ? "truncate the response" : "",
  ];
  return `Requests: ${parts.filter((part) => part !== "").join(", ")}`;
}

/** Fields of a fault other than its conditions. */
const otherFields = new Set([
  ...["id", "matched", "hit", "seed", "direction", "effect", "delay"],
  ...["status", "latency_ms", "reset", "truncated", "response_body", "response_headers"],
]);

/** Describes the conditions of a fault, without defaults. */
function describeMatch(fault: Fault): string {
  const matchers = Object.entries(fault).filter(
    ([name, value]) => !otherFields.has(name) && !(value === 1 && ["nth", "chance"].includes(name)),
  );
  return matchers.length === 0 ? "all" : matchers.map(([name, value]) => `${name} ${value}`).join(", ");
}

type NewFaultBody = OperationInput<"faults.add">["body"];

const kinds: readonly { readonly words: string; readonly fault: NewFaultBody }[] = [
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

/** A form for the common faults. The command has more options. */
function NewFault() {
  const kind = useSignal(0);
  const count = useSignal("1");
  const matched = useSignal("");
  const { fault } = kinds[kind.value]!;
  const isIncoming = fault.direction === "incoming";
  const number = Number(count.value);
  const isCounted = /^\d{1,9}$/.test(count.value);
  const body: NewFaultBody = {
    ...fault,
    ...(number > 0 ? { count: number } : {}),
    ...(matched.value === "" ? {} : isIncoming ? { operation: matched.value } : { webhook: Number(matched.value) }),
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
              matched.value = "";
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
              value={matched.value}
              placeholder="contracts.create (default: any)"
              onInput={({ currentTarget }) => {
                matched.value = currentTarget.value.trim();
              }}
            />
          </label>
        ) : (
          <label>
            Webhook
            <select {...bindValue(matched)}>
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
          <input type="number" min="0" {...bindValue(count)} aria-invalid={!isCounted} aria-describedby="how-often" />
        </label>
        <Action
          op="faults.add"
          input={{ body }}
          kind="primary"
          disabled={!isCounted}
          describe={({ id }) => `Fault ${id} added`}
        >
          Add fault
        </Action>
      </div>
      {/* Without a submit button, Enter does not submit a form of several fields. */}
      <input type="submit" hidden />
      <p class="muted" id="how-often">
        {!isCounted && <span class="invalid">The count must be a whole number. </span>}With a count of 0, the fault
        stays until it is removed. For all options, run svc emulator fault add --help.
      </p>
    </form>
  );
}
