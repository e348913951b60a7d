import { toIsoSeconds } from "../../base/clock.ts";
import { isolateText, pluralize, revealInvisible, toWords } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { Empty, Head, Name, State, VirtualTime } from "../parts/messages.tsx";
import { type Filter, FilteredRows, Line, TruncationNote } from "../parts/rows.tsx";
import { isInWorkspace, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import { formatMoment } from "../state/clock.ts";
import {
  areDeliveriesRead,
  type Delivery,
  findWebhook,
  hasOlderDeliveries,
  isLost,
  isOverdue,
  isToBeSkipped,
  maxHeldDeliveries,
  newestDeliveries,
  totalDeliveries,
} from "../state/deliveries.ts";
import { buildHref, replacePart, route } from "../state/route.ts";
import { describeResponse, toStatusLabel } from "./explain.ts";

const filters: readonly Filter<Delivery>[] = [
  { name: "All", includes: () => true, emptyText: "No deliveries" },
  { name: "Undelivered", includes: isOverdue, emptyText: "No undelivered deliveries" },
  {
    name: "Scheduled",
    includes: (row) => row.next_attempt_at !== null && !isToBeSkipped(row),
    emptyText: "No scheduled attempts",
  },
  { name: "Lost", includes: isLost, emptyText: "No lost deliveries" },
];

/** Finds the filter in the address: one webhook or one moment. */
function findPart(query: URLSearchParams) {
  const webhook = query.get("webhook");
  const at = query.get("at");
  if (webhook === null && at === null) return undefined;
  const title = webhook === null ? "" : isolateText(findWebhook(Number(webhook))?.title ?? `webhook ${webhook}`);
  return {
    words: [title && `to ${title}`, at && `at ${formatMoment(at)}`].filter(Boolean).join(", "),
    includes: ({ webhook_id, attempts, created_at, next_attempt_at: next }: Delivery) =>
      (webhook === null || String(webhook_id) === webhook) &&
      (at === null ||
        [...attempts.map((attempt) => attempt.at), next ?? created_at, created_at].some(
          (moment) => toIsoSeconds(Date.parse(moment)) === at,
        )),
  };
}

/** Lists all webhook deliveries, sent and planned, newest first. */
export function DeliveryList() {
  const part = findPart(route.value.query);
  const rows = newestDeliveries.value.filter(
    (row) => isInWorkspace(row.workspace_id) && (part === undefined || part.includes(row)),
  );
  const isPart = part !== undefined || route.value.query.has("workspace");
  return (
    <>
      <Head title="Deliveries" about="Webhook deliveries, newest first. Times are virtual.">
        <WorkspaceFilter />
      </Head>
      {totalDeliveries.value === 0 ? (
        <Empty title="No deliveries yet">
          <p>Create a webhook, then trigger its activity:</p>
          <Command text="svc webhooks create --title Mine --url http://localhost:3000/hooks --only-for-activities CONTRACT_CREATED" />
        </Empty>
      ) : (
        <>
          {part && (
            <p class="part">
              Filter: {part.words}. <a href={replacePart({ webhook: undefined, at: undefined })}>Show all</a>
            </p>
          )}
          <FilteredRows
            label="Deliveries"
            rows={rows}
            filters={filters}
            areRead={areDeliveriesRead.value}
            total={isPart ? undefined : totalDeliveries.value}
            isWhole={totalDeliveries.value !== undefined && !hasOlderDeliveries.value}
            headings={["Delivery", "Activity", "Webhook, contract", "Status", "Last attempt"]}
            getKey={({ id }) => id}
            draw={(row) => <Row {...row} />}
          />
          <TruncationNote shown={maxHeldDeliveries} of={totalDeliveries.value} what="delivery" many="deliveries" />
        </>
      )}
    </>
  );
}

function Row(delivery: Delivery) {
  const { tone, words } = toStatusLabel(delivery);
  const { id, activity, composite_id: contract, webhook_id, label, created_at, attempts } = delivery;
  const last = attempts.at(-1);
  const to = findWebhook(webhook_id)?.title ?? `webhook ${webhook_id}`;
  const about = [contract, label].flatMap((part) => (part == null ? [] : ` · ${part}`)).join("");
  return (
    <a class="row" href={buildHref("deliveries", id)}>
      <span class="number id">{id}</span>
      <span class="main">
        <Line of="title">{toWords(activity)}</Line>
        <Line of="muted sub" title={`to ${revealInvisible(to)}${about}`}>
          to <Name>{to}</Name>
          {about}
        </Line>
      </span>
      <span class="end">
        <State tone={tone}>{words}</State>
        <span class="muted sub">
          {last && `${describeResponse(last)} · ${pluralize(attempts.length, "attempt")} · `}
          <VirtualTime at={last?.at ?? created_at} />
        </span>
      </span>
    </a>
  );
}
