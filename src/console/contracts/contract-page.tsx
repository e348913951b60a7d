import type { ComponentChildren } from "preact";
import type { Trigger } from "../../api/contracts/lifecycle.ts";
import { groupBy } from "../../base/object.ts";
import { callOperation, canReadSecrets } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { toStatusLabel } from "../deliveries/explain.ts";
import { getTone, isolateText, pluralize, toWords } from "../format.ts";
import { Action, Command, Copy } from "../parts/action.tsx";
import { Empty, Facts, Head, Icon, Missing, Name, ProblemMessage, State, VirtualTime } from "../parts/messages.tsx";
import { useWorkspaceNames } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { buildHref, navigate, replaceTrace } from "../state/route.ts";
import { canMove, findPossibleMoves, LifecyclePicture } from "./lifecycle-picture.tsx";
import { describeMove, describeMoveResults, moveActions } from "./moves.ts";

type Contract = OperationResult<"emulator-contracts.show">;

/** Shows one contract: its status in the lifecycle, the possible actions, and its activities. */
export function ContractPage({ id }: { readonly id: string }) {
  const { value: contract, problem } = useLoaded(id, ["contracts"], () =>
    callOperation("emulator-contracts.show", { params: { id } }),
  );
  const nameWorkspace = useWorkspaceNames();
  if (problem?.status === 404 && contract) return <DeletedContract id={contract.composite_id} />;
  if (problem) return <Missing title={`Contract ${id}`} problem={problem} all="contracts" />;
  if (!contract) return <p class="muted">Loading…</p>;
  const { contract_status: status, composite_id: composite } = contract;
  return (
    <>
      <Head
        title={<Name>{contract.contract_name}</Name>}
        about={`${composite}, contract number ${contract.contract_id}`}
      >
        <a class="button" href={replaceTrace(composite)}>
          Why?
        </a>
      </Head>
      <p class="present">
        <State tone={getTone(status)}>{status.replace("_", " ")}</State>
      </p>
      <LifecyclePicture status={status} />
      <People contract={contract} />
      <NextActions contract={contract} />
      <h2>Details</h2>
      <Facts
        rows={[
          ["Workspace", <Name key="workspace">{nameWorkspace(contract.workspace_id)}</Name>],
          ["Entity", contract.entity ? `${isolateText(contract.entity.name)} (${contract.entity.reference_id})` : "–"],
          ["Counterparties", contract.counterparties.map(({ name }) => isolateText(name)).join(", ") || "–"],
          contract.reviews.length > 0 && ["Reviews", <Reviews key="reviews" contract={contract} />],
          ["Webhooks", <ContractDeliveries key="deliveries" id={composite} />],
          [
            "E-mails",
            <a key="emails" href={buildHref("emails", composite)}>
              E-mails about {composite}
            </a>,
          ],
        ]}
      />
    </>
  );
}

/** Shown if the contract is deleted while its page is open, or does not exist in a restored state. */
const DeletedContract = ({ id }: { readonly id: string }) => (
  <>
    <Head title={`Contract ${id}`}>
      <a class="button" href={replaceTrace(id)}>
        Why?
      </a>
    </Head>
    <Empty title={`${id} no longer exists`}>
      <a href={buildHref("contracts")}>Show all contracts</a>
    </Empty>
  </>
);

/** Shows every possible move with its conditions. Moves without a button have a command. */
function NextActions({ contract }: { readonly contract: Contract }) {
  const byTrigger = groupBy(findPossibleMoves(contract.contract_status), ({ trigger }) => trigger);
  return (
    <>
      <h2>Next actions</h2>
      {[...byTrigger.keys()].some((trigger) => moveActions[trigger].by === "command") && (
        <>
          <p class="muted">The commands need the API key of the contract's workspace:</p>
          <Command text={`eval "$(svc emulator env --workspace ${contract.workspace_id})"`} />
        </>
      )}
      <ul class="moves-list">
        {[...byTrigger].map(([trigger, moves]) => {
          const action = moveActions[trigger];
          return (
            <li key={trigger}>
              <span>{`${moves[0]!.isAutomatic ? "Automatically" : "Can be"} ${moves[0]!.label}`}</span>
              <span class="muted">{describeMoveResults(moves)}</span>
              {action.by === "command" && <Command text={action.formatCommand(contract.contract_id)} />}
            </li>
          );
        })}
      </ul>
    </>
  );
}

const Reviews = ({ contract }: { readonly contract: Contract }) => (
  <ul>
    {contract.reviews.map(({ by, user, role, completed_at, requested_at }) => (
      <li key={`${requested_at} ${user?.id} ${role?.id}`}>
        {by}, <Name>{user?.name ?? role?.name ?? "counterparty"}</Name>: {completed_at === null ? "open" : "complete"}
      </li>
    ))}
  </ul>
);

const maxShownDeliveries = 12;

/** Lists the deliveries of a contract, newest first. */
function ContractDeliveries({ id }: { readonly id: string }) {
  const { value: page, problem } = useLoaded(id, ["deliveries"], () =>
    callOperation("deliveries.list", { query: { contract: id, limit: maxShownDeliveries } }),
  );
  if (problem) return <ProblemMessage problem={problem} />;
  if (!page) return <>Loading…</>;
  if (page.total === 0) return <>none</>;
  return (
    <>
      {pluralize(page.total, "delivery", "deliveries")}
      {page.total > maxShownDeliveries && `, the newest ${maxShownDeliveries}:`}
      <ul class="deliveries">
        {page.items.map((delivery) => (
          <li key={delivery.id}>
            <a href={buildHref("deliveries", delivery.id)}>
              Delivery {delivery.id}: {toWords(delivery.activity)}
            </a>{" "}
            <State tone={toStatusLabel(delivery).tone}>{toStatusLabel(delivery).words}</State>
          </li>
        ))}
      </ul>
    </>
  );
}

type Person = Contract["people"][number];

/** Actions of the person whose turn it is. */
const acts = {
  sign: [
    { op: "emulator-contracts.sign", words: "Sign", kind: "primary" },
    { op: "emulator-contracts.decline", words: "Decline", kind: undefined },
  ],
  review: [{ op: "emulator-contracts.complete-review", words: "Complete review", kind: "primary" }],
  approve: [{ op: "emulator-contracts.approve", words: "Approve", kind: "primary" }],
} as const;

/** Lists everyone involved in a contract, with their actions and the links to their pages. */
function People({ contract }: { readonly contract: Contract }) {
  const { people } = contract;
  const turns = [...people].sort((a, b) => Number(b.turn.length > 0) - Number(a.turn.length > 0));
  return (
    <>
      <h2>People</h2>
      <ul class="cards" aria-label="People">
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

/** Shows the creator of the contract, with the actions that are possible now. */
function OwnerRow({ contract: { contract_status: status, composite_id: id } }: { readonly contract: Contract }) {
  const open = Object.entries(moveActions).flatMap(([trigger, action]) =>
    action.by === "owner" && canMove(status, trigger as Trigger) ? [action] : [],
  );
  return (
    <>
      <div class="who">
        <strong>Owner</strong>
        <span class="muted">the user who created the contract</span>
      </div>
      <div class="actions">
        {open.map(({ op, words, kind, consequence, describeDone }) => (
          <Action
            key={op}
            op={op}
            input={{ params: { id }, body: {} }}
            kind={kind}
            question={
              consequence ? { title: `${words} ${id}?`, consequence, confirmLabel: `${words} ${id}` } : undefined
            }
            describe={describeDone ? () => describeDone(id) : describeMove}
            onDone={() => {
              if (op === "emulator-contracts.delete") navigate(buildHref("contracts"));
            }}
          >
            {words}
          </Action>
        ))}
      </div>
    </>
  );
}

/** Explains why a person has no action now. */
function explainNoAction({ signed_at: at }: Person, { contract_status: status }: Contract): ComponentChildren {
  if (at !== null)
    return (
      <>
        signed <VirtualTime at={at} />
      </>
    );
  return status === "EXECUTED" || status === "VOIDED" ? "no action left" : "no action now";
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
        <span class="muted">{email}</span>
      </div>
      <div class="actions">
        {turn.length === 0 && <span class="muted">{explainNoAction(person, contract)}</span>}
        {turn.flatMap((one) =>
          acts[one].map(({ op, words, kind }) => (
            <Action key={op} op={op} input={input} kind={kind} name={`${words} as ${name}`} describe={describeMove}>
              {words}
            </Action>
          )),
        )}
        {canReadSecrets.value && (
          <>
            <a class="button" href={link} target="_blank" rel="noreferrer">
              Open page <Icon name="out" />
              <span class="unseen"> of {name}, in a new tab</span>
            </a>
            <Copy text={link} label="Copy link" of={`of ${name}`} />
          </>
        )}
      </div>
    </>
  );
}
