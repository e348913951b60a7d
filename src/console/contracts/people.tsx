import type { Answer } from "../api/operations.ts";
import { Action } from "../parts/action.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/messages.tsx";

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
      {people.length === 0 && <Empty title="Nobody takes part yet">It has to be sent first.</Empty>}
      <ul class="people">
        {turns.map((person) => (
          <li key={person.email}>
            <PersonRow person={person} contract={contract} />
          </li>
        ))}
      </ul>
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
            <Action
              key={op}
              op={op}
              input={input}
              kind={kind}
              name={`${words} as ${name}`}
              message={({ composite_id, contract_status }) => `${composite_id} is ${contract_status}`}
            >
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
