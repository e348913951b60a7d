import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";
import { standingOf } from "../deliveries/standing.ts";
import { counted, wordsOf } from "../format.ts";
import { Command } from "../parts/command-popover.tsx";
import { Empty, Facts, Head, Missing } from "../parts/messages.tsx";
import { Name } from "../parts/name.tsx";
import { isolated } from "../parts/names.ts";
import { State } from "../parts/state.tsx";
import { toneOf } from "../parts/tone.ts";
import { newestFirst } from "../state/deliveries.ts";
import { useLoaded } from "../state/loaded.ts";
import { href, withTrace } from "../state/route.ts";
import { possibleFrom } from "./lifecycle-graph.ts";
import { LifecyclePicture } from "./lifecycle-picture.tsx";
import { ways } from "./moves.ts";
import { People } from "./people.tsx";
import { resultsOf } from "./results.ts";

export type Contract = Answer<"emulator-contracts.show">;

/** One contract: where it is in its lifecycle, who may do what now, and what was told of it. */
export function ContractPage({ id }: { readonly id: string }) {
  const { value, problem } = useLoaded(id, ["contracts"], () => call("emulator-contracts.show", { params: { id } }));
  const contract = value.value;
  if (problem.value?.status === 404 && contract) return <Deleted id={contract.composite_id} />;
  if (problem.value) return <Missing title={`Contract ${id}`} problem={problem.value} all="contracts" />;
  if (!contract) return <p class="muted">Reading…</p>;
  const { contract_status: status, composite_id: composite } = contract;
  return (
    <>
      <Head
        title={<Name>{contract.contract_name}</Name>}
        about={`${composite}, contract number ${contract.contract_id}`}
      >
        <a class="button" href={withTrace(composite)}>
          Why?
        </a>
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
          ["Entity", contract.entity ? `${isolated(contract.entity.name)} (${contract.entity.reference_id})` : "–"],
          ["Counterparties", contract.counterparties.map(({ name }) => isolated(name)).join(", ") || "–"],
          contract.reviews.length > 0 && ["Reviews", <Reviews key="reviews" contract={contract} />],
          ["Webhooks", <Told key="told" id={contract.contract_id} />],
          [
            "E-mails",
            <a key="emails" href={href("emails", composite)}>
              those about {composite}
            </a>,
          ],
        ]}
      />
    </>
  );
}

/** It was there until a moment ago. */
const Deleted = ({ id }: { readonly id: string }) => (
  <>
    <Head title={`Contract ${id}`}>
      <a class="button" href={withTrace(id)}>
        Why?
      </a>
    </Head>
    <Empty title={`${id} was deleted`}>
      <a href={href("contracts")}>Show all contracts</a>
    </Empty>
  </>
);

/** Every move that the table lets happen now, and what it hangs on; those that no button above makes, with the command. */
function FromHere({ contract }: { readonly contract: Contract }) {
  const possible = possibleFrom(contract.contract_status);
  const triggers = [...new Set(possible.map(({ trigger }) => trigger))];
  return (
    <>
      <h2>What can happen from here</h2>
      <ul class="moves-list">
        {triggers.map((trigger) => {
          const moves = possible.filter((move) => move.trigger === trigger);
          const way = ways[trigger];
          return (
            <li key={trigger}>
              <span>{`It ${moves[0]!.isAutomatic ? "is" : "can be"} ${moves[0]!.what}`}</span>
              <span class="muted">{resultsOf(moves)}</span>
              {way.by === "command" && <Command text={way.command(contract.contract_id)} />}
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

const toldAtMost = 12;

/** The webhooks that told of it, newest first. */
function Told({ id }: { readonly id: number }) {
  const own = newestFirst.value.filter(({ contract_id }) => contract_id === id);
  if (own.length === 0) return <>none</>;
  return (
    <>
      {counted(own.length, "delivery", "deliveries")}
      {own.length > toldAtMost && `, the newest ${toldAtMost}:`}
      <ul class="told">
        {own.slice(0, toldAtMost).map((delivery) => (
          <li key={delivery.id}>
            <a href={href("deliveries", delivery.id)}>
              Delivery {delivery.id}: {wordsOf(delivery.activity)}
            </a>{" "}
            <State tone={standingOf(delivery).tone}>{standingOf(delivery).words}</State>
          </li>
        ))}
      </ul>
    </>
  );
}
