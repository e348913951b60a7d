import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";
import { counted, wordsOf } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Command } from "../parts/command-popover.tsx";
import { Facts, Head, Trouble } from "../parts/messages.tsx";
import { State, toneOf } from "../parts/state.tsx";
import { newestFirst } from "../state/deliveries.ts";
import { useLoaded } from "../state/loaded.ts";
import { href, withTrace } from "../state/route.ts";
import { canBe, possibleFrom } from "./lifecycle-graph.ts";
import { LifecyclePicture } from "./lifecycle-picture.tsx";
import { People } from "./people.tsx";

export type Contract = Answer<"emulator-contracts.show">;

/** What came of a move, for the foot of the page. */
export const moved = ({ composite_id, contract_status }: Answer<"emulator-contracts.sign">): string =>
  `${composite_id} is ${contract_status}`;

const byOwner = [
  { op: "emulator-contracts.hold", trigger: "hold", words: "Put on hold" },
  { op: "emulator-contracts.resume", trigger: "resume", words: "Resume" },
  { op: "emulator-contracts.void", trigger: "void", words: "Void", kind: "danger" },
  { op: "emulator-contracts.delete", trigger: "delete", words: "Delete", kind: "danger" },
] as const;

/** One contract: where it is in its lifecycle, who may do what now, and what was told of it. */
export function ContractPage({ id }: { readonly id: string }) {
  const { value, problem } = useLoaded(id, ["contracts"], () => call("emulator-contracts.show", { params: { id } }));
  const contract = value.value;
  if (problem.value) return <Trouble problem={problem.value} />;
  if (!contract) return <p class="muted">Reading…</p>;
  const { contract_status: status, composite_id: composite } = contract;
  const input = { params: { id: composite }, body: {} };
  return (
    <>
      <Head title={contract.contract_name} about={`${composite}, contract number ${contract.contract_id}`}>
        <a class="button" href={withTrace(composite)}>
          Why?
        </a>
        {byOwner
          .filter(({ trigger }) => canBe(status, trigger))
          .map(({ op, words, ...more }) => (
            <Action key={op} op={op} input={input} message={moved} kind={"kind" in more ? more.kind : undefined}>
              {words}
            </Action>
          ))}
      </Head>
      <p class="present">
        <State tone={toneOf(status)}>{status.replace("_", " ")}</State>
      </p>
      <LifecyclePicture status={status} />
      <People contract={contract} />
      <FromHere contract={contract} />
      <h2>Facts</h2>
      <Facts
        rows={[
          ["Entity", contract.entity ? `${contract.entity.name} (${contract.entity.reference_id})` : "–"],
          ["Counterparties", contract.counterparties.map(({ name }) => name).join(", ") || "–"],
          contract.reviews.length > 0 && ["Reviews", <Reviews key="reviews" contract={contract} />],
          ["Webhooks", <Told key="told" id={contract.contract_id} />],
          [
            "E-mails",
            <a key="emails" href={href("emails", composite)}>
              of {composite}
            </a>,
          ],
        ]}
      />
    </>
  );
}

/** Every move that the table lets happen now, and what it hangs on. */
function FromHere({ contract }: { readonly contract: Contract }) {
  const { contract_status: status, composite_id: id } = contract;
  return (
    <>
      <h2>What can happen from here</h2>
      <ul class="moves-list">
        {possibleFrom(status).map(({ trigger, what, to, when, isAutomatic }) => (
          <li key={`${trigger} ${when} ${to}`}>
            <span>{isAutomatic ? `It is ${what}, by itself` : `It can be ${what}`}</span>
            <span class="muted">
              {to === "="
                ? "stays as it is"
                : to === "held"
                  ? "goes back to where it was"
                  : to === "(deleted)"
                    ? "is gone"
                    : `becomes ${to}`}
              {when && `, if ${when}`}
            </span>
            {trigger === "send" && when === undefined && <Command text={`svc contracts send ${id}`} />}
          </li>
        ))}
      </ul>
    </>
  );
}

const Reviews = ({ contract }: { readonly contract: Contract }) => (
  <ul>
    {contract.reviews.map(({ by, user, role, completed_at, requested_at }) => (
      <li key={`${requested_at} ${user?.id} ${role?.id}`}>
        {by}, {user?.name ?? role?.name ?? "counterparty"}: {completed_at === null ? "open" : "complete"}
      </li>
    ))}
  </ul>
);

/** The webhooks that told of it, newest first. */
function Told({ id }: { readonly id: number }) {
  const own = newestFirst.value.filter(({ contract_id }) => contract_id === id);
  if (own.length === 0) return <>none</>;
  return (
    <>
      {counted(own.length, "delivery", "deliveries")}
      <ul class="told">
        {own.slice(0, 12).map(({ id: delivery, activity, outcome }) => (
          <li key={delivery}>
            <a href={href("deliveries", delivery)}>
              {delivery} {wordsOf(activity)}
            </a>{" "}
            <State tone={toneOf(outcome)}>{wordsOf(outcome)}</State>
          </li>
        ))}
      </ul>
    </>
  );
}
