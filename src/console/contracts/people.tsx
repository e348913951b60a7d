import type { ComponentChildren } from "preact";
import type { Trigger } from "../../api/contracts/lifecycle.ts";
import type { Answer } from "../api/operations.ts";
import { Action } from "../parts/action.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Name } from "../parts/name.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { go, href } from "../state/route.ts";
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
        <strong>The owner of the contract</strong>
        <span class="muted">whoever made it, as in the application</span>
      </div>
      <div class="actions">
        {open.map(({ op, words, kind, ask, done }) => (
          <Action
            key={op}
            op={op}
            input={{ params: { id }, body: {} }}
            kind={kind}
            ask={ask?.(id)}
            message={done ? () => done(id) : moved}
            done={() => {
              if (op === "emulator-contracts.delete") go(href("contracts"));
            }}
          >
            {words}
          </Action>
        ))}
      </div>
    </>
  );
}

/** Why somebody has nothing to do now. */
function whyNothing({ signed_at: at }: Person, { contract_status: status }: Contract): ComponentChildren {
  if (at !== null)
    return (
      <>
        signed <VirtualTime at={at} />
      </>
    );
  if (status === "EXECUTED" || status === "VOIDED") return "nothing left to do";
  return status === "SIGN" ? "not their turn yet" : "nothing to do now";
}

function PersonRow({ person, contract }: { readonly person: Person; readonly contract: Contract }) {
  const { name, email, link, turn } = person;
  const input = { params: { id: contract.composite_id }, body: { email } };
  return (
    <>
      <div class="who">
        <strong>
          <Name>{name}</Name>
        </strong>
        <span class="muted break">{email}</span>
      </div>
      <div class="actions">
        {turn.length === 0 && <span class="muted">{whyNothing(person, contract)}</span>}
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
