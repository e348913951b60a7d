import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { pluralize } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { State } from "../parts/labels.tsx";
import { Empty, Head, NotListedMessage, ProblemMessage } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { NewFault } from "./new-fault.tsx";

type Fault = OperationResult<"faults.list">[number];

/** Scripted trouble: what there is, how often it was met, and more of it. */
export function Faults({ id }: { readonly id: string | undefined }) {
  const { value, problem } = useLoaded("", ["faults", "requests", "deliveries"], () => callOperation("faults.list"));
  const faults = value.value;
  const isMissing = id !== undefined && faults?.every((fault) => String(fault.id) !== id);
  return (
    <>
      <Head title="Faults" about="Scripted failures of incoming requests and outgoing webhooks." />
      {problem.value && <ProblemMessage problem={problem.value} />}
      {isMissing && <NotListedMessage what={`fault ${id}`} all="faults" />}
      {faults?.length === 0 && !isMissing && (
        <Empty title="No faults">Add a fault to test how your program handles failures.</Empty>
      )}
      <ul class="cards">
        {faults?.map((fault) => (
          <li key={fault.id} class={String(fault.id) === id ? "chosen" : ""}>
            <div class="who">
              <strong>
                {fault.id}. {effectOf(fault)}
              </strong>
              <span class="muted break">{whomOf(fault)}</span>
              <State tone={fault.hit > 0 ? "warn" : "none"}>{`${hitsOf(fault)}`}</State>
            </div>
            <div class="actions">
              <Action
                op="faults.remove"
                input={{ params: { id: fault.id } }}
                name={`Remove fault ${fault.id}`}
                message={() => `Fault ${fault.id} is removed`}
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

/** How often it struck, of how often it might have. */
function hitsOf({ hit, matched, direction }: Fault): string {
  if (matched === 0) return "not matched yet";
  return `affected ${hit} of ${pluralize(matched, direction === "outgoing" ? "webhook" : "request")} that matched`;
}

function effectOf({ direction, effect, delay, status, latency_ms, reset, truncated }: Fault): string {
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

const effects = new Set([
  "id",
  "matched",
  "hit",
  "direction",
  "effect",
  "delay",
  "status",
  "latency_ms",
  "reset",
  "truncated",
  "answer_body",
  "answer_headers",
  "seed",
]);

/** Whom it hits, by what it matches; defaults say nothing. */
function whomOf(fault: Fault): string {
  const matchers = Object.entries(fault).filter(
    ([name, value]) => !effects.has(name) && !(name === "nth" && value === 1) && !(name === "chance" && value === 1),
  );
  return matchers.length === 0 ? "all" : matchers.map(([name, value]) => `${name} ${value}`).join(", ");
}
