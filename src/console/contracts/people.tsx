import type { Trigger } from "../../api/contracts/lifecycle.ts";
import type { Answer } from "../api/operations.ts";
import { Action } from "../parts/action.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { canBe } from "./lifecycle-graph.ts";
import { moved, ways } from "./moves.ts";

type Contract = Answer<"emulator-contracts.show">;
type Person = Contract["people"][number];

/** What a turn lets a person do. */
const acts = {
  sign: [
    { op: "emulator-contracts.sign", words: "Sign", kind: "primary" },
    { op: "emulator-contracts.decline", words: "Decline", kind: undefined },
  ],
  review: [{ op: "emulator-contracts.complete-review", words: "Complete the review", kind: "primary" }],
  approve: [{ op: "emulator-contracts.approve", words: "Approve", kind: "primary" }],
} as const;

/** Everybody who has a part in a contract: what each may do now, and the page on which they would do it. */
export function People({ contract }: { readonly contract: Contract }) {
  const { people } = contract;
  const turns = [...people].sort((a, b) => Number(b.turn.length > 0) - Number(a.turn.length > 0));
  return (
    <>
      <h2>Who may do what now</h2>
      <ul class="cards" aria-label="Who may do what now">
        {turns.map((person) => (
          <li key={person.email}>
            <PersonRow person={person} contract={contract} />
          </li>
        ))}
        <li>
          <OwnerRow contract={contract} />
        </li>
      </ul>
    </>
  );
}

/** Whoever made the contract: what the table lets them do with it now. */
function OwnerRow({ contract: { contract_status: status, composite_id: id } }: { readonly contract: Contract }) {
  const open = Object.entries(ways).flatMap(([trigger, way]) =>
    way.by === "owner" && canBe(status, trigger as Trigger) ? [way] : [],
  );
  return (
    <>
      <div class="who">
        <strong>Its owner</strong>
        <span class="muted">in the application</span>
      </div>
      <div class="actions">
        {open.map(({ op, words, kind }) => (
          <Action key={op} op={op} input={{ params: { id }, body: {} }} kind={kind} message={moved}>
            {words}
          </Action>
        ))}
      </div>
    </>
  );
}

function PersonRow({ person, contract }: { readonly person: Person; readonly contract: Contract }) {
  const { name, email, link, turn } = person;
  const input = { params: { id: contract.composite_id }, body: { email } };
  return (
    <>
      <div class="who">
        <strong>{name}</strong>
        <span class="muted break">{email}</span>
      </div>
      <div class="actions">
        {turn.length === 0 && <span class="muted">not their turn</span>}
        {turn.flatMap((one) =>
          acts[one].map(({ op, words, kind }) => (
            <Action key={op} op={op} input={input} kind={kind} name={`${words} as ${name}`} message={moved}>
              {words}
            </Action>
          )),
        )}
        <a class="button" href={link} target="_blank" rel="noreferrer">
          Their page <Icon name="out" />
          <span class="unseen"> of {name}, in a new tab</span>
        </a>
        <Copy text={link} label="Copy link" />
      </div>
    </>
  );
}
