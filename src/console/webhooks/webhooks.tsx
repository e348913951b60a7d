import { useSignal } from "@preact/signals";
import { hasSucceeded } from "../../api/webhook-health/attempts.ts";
import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { describeResponse } from "../deliveries/explain.ts";
import { isolateText, pluralize, toWords } from "../format.ts";
import { Action, Command } from "../parts/action.tsx";
import {
  bindValue,
  Empty,
  Facts,
  Head,
  markChosen,
  Name,
  NotListedMessage,
  State,
  VirtualTime,
} from "../parts/messages.tsx";
import { isInWorkspace, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import type { ActionOutcome } from "../state/act.ts";
import {
  findDeliveriesTo,
  formatDeliveryCount,
  hasOlderDeliveries,
  healthByWebhook,
  type Webhook,
  webhooks,
} from "../state/deliveries.ts";
import { buildHref, buildPartHref } from "../state/route.ts";

/** Lists all webhooks with their URLs, activities and status. */
export function Webhooks({ id }: { readonly id: string | undefined }) {
  const all = webhooks.value;
  const shown = all?.filter(({ workspace_id }) => isInWorkspace(workspace_id));
  const isMissing = id !== undefined && all?.every((one) => String(one.id) !== id);
  return (
    <>
      <Head title="Webhooks" about="Webhooks with their receivers, activities and status.">
        <WorkspaceFilter />
      </Head>
      {isMissing && <NotListedMessage subject={`webhook ${id}`} all="webhooks" />}
      {shown?.length === 0 && !isMissing && (
        <Empty title="No webhooks">
          <p>Create a webhook:</p>
          <Command text="svc webhooks create --title Mine --url http://localhost:3000/hooks --only-for-activities CONTRACT_CREATED" />
        </Empty>
      )}
      <ul class="cards">
        {shown?.map((webhook) => (
          <li key={webhook.id} {...markChosen(String(webhook.id) === id)}>
            <WebhookCard webhook={webhook} />
          </li>
        ))}
      </ul>
    </>
  );
}

function WebhookCard({ webhook }: { readonly webhook: Webhook }) {
  const { id, title, url, status, workspace, only_for_activities: activities, custom_headers, forbidden } = webhook;
  const state = healthByWebhook.value.get(id)?.state;
  const count = findDeliveriesTo(id).length;
  return (
    <>
      <div class="who">
        <span>
          <strong>
            <a href={buildHref("timeline", id)}>
              <Name>{title}</Name>
            </a>
          </strong>{" "}
          {state && <State tone={state.tone}>{state.words}</State>}
        </span>
        <code>{url}</code>
        {forbidden !== null && <span class="warn">{forbidden}</span>}
      </div>
      <div class="actions">
        <TestEvent webhook={webhook} />
        {status === "ACTIVE" ? (
          <Action
            op="emulator-webhooks.disable"
            input={{ params: { id } }}
            name={`Disable ${title}`}
            describe={() => `${isolateText(title)} is disabled`}
          >
            Disable
          </Action>
        ) : (
          <EnableWebhook id={id} title={title} />
        )}
      </div>
      <Facts
        rows={[
          ["Activities", activities.map(toWords).join(", ")],
          ["Workspace", <Name key="workspace">{workspace}</Name>],
          ["Deliveries", <DeliveriesLink key="deliveries" id={id} count={count} />],
          custom_headers.length > 0 && ["Headers", custom_headers.join(", ")],
          ["Created", <VirtualTime key="created" at={webhook.created_at} />],
        ]}
      />
    </>
  );
}

export const EnableWebhook = ({ id, title }: Pick<Webhook, "id" | "title">) => (
  <Action
    op="emulator-webhooks.enable"
    input={{ params: { id } }}
    kind="primary"
    name={`Enable ${title}`}
    describe={() => `${isolateText(title)} is enabled`}
  >
    Enable
  </Action>
);

const DeliveriesLink = ({ id, count }: { readonly id: number; readonly count: number }) =>
  count === 0 && !hasOlderDeliveries.value ? (
    <>none</>
  ) : (
    <a href={buildPartHref("deliveries", { webhook: String(id) })}>
      {formatDeliveryCount(pluralize(count, "delivery", "deliveries"))}
    </a>
  );

/** Sends an activity only to this webhook, and shows the response. */
function TestEvent({ webhook: { id, title, only_for_activities: activities } }: { readonly webhook: Webhook }) {
  const chosen = useSignal<string>(activities[0]!);
  const activity = activities.find((one) => one === chosen.value) ?? activities[0]!;
  return (
    <>
      {activities.length > 1 && (
        <select aria-label={`Activity of the test event for ${title}`} {...bindValue(chosen)} value={activity}>
          {activities.map((activity) => (
            <option key={activity} value={activity}>
              {toWords(activity)}
            </option>
          ))}
        </select>
      )}
      <Action
        op="activities.fire"
        input={{ body: { activity, webhook: id, wait: true } }}
        command={`svc webhooks trigger ${activity} --webhook ${id}`}
        name={`Send test event to ${title}`}
        describe={describeTestEvent}
      >
        Send test event
      </Action>
    </>
  );
}

async function describeTestEvent({ deliveries: [id] }: OperationResult<"activities.fire">): Promise<ActionOutcome> {
  const { attempts, status_text } = await callOperation("deliveries.show", { params: { id: id! } });
  const last = attempts.at(-1);
  if (!last) return { tone: "warn", words: `Delivery ${id}: ${status_text}` };
  const words = `Delivery ${id}: ${describeResponse(last)}`;
  return hasSucceeded(last) ? words : { tone: "bad", words };
}
