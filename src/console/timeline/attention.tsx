import { useSignal } from "@preact/signals";
import { hasSucceeded, type Webhook } from "../../api/webhook-health/attempts.ts";
import type { WebhookHealth } from "../../api/webhook-health/health.ts";
import { capitalize } from "../../base/text.ts";
import type { OperationResult } from "../api/operations.ts";
import { filterStepsWithoutButtons, toResendOutcome } from "../deliveries/explain.ts";
import { pluralize } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Name, State } from "../parts/messages.tsx";
import { Steps } from "../parts/rows.tsx";
import type { ActionOutcome } from "../state/act.ts";
import {
  areDeliveriesRead,
  findDeliveriesTo,
  formatDeliveryCount,
  hasOlderDeliveries,
  healthByWebhook,
  healthOfDeleted,
  isOverdue,
  needsAttention,
  newestDeliveries,
  plannedDeliveries,
} from "../state/deliveries.ts";
import { buildPartHref, replaceTrace } from "../state/route.ts";
import { EnableWebhook } from "../webhooks/webhooks.tsx";

/** Default number of cards. */
const defaultShown = 6;

/** Shows a line for each failing webhook, with its buttons. When expanded, it explains the failure. */
export function Attention(props: { readonly webhooks: readonly Webhook[]; readonly only: string | undefined }) {
  const { webhooks, only } = props;
  const areAllShown = useSignal(false);
  const failing = webhooks.flatMap((webhook) => {
    const health = healthByWebhook.value.get(webhook.id);
    return health && needsAttention(health) ? [{ webhook, health }] : [];
  });
  if (!areDeliveriesRead.value) return null;
  if (failing.length === 0) return <AllClear only={only} />;
  const shown = areAllShown.value ? failing : failing.slice(0, defaultShown);
  return (
    <ul class="attention">
      {shown.map(({ webhook, health }) => (
        <li key={webhook.id}>
          <Card webhook={webhook} health={health} />
        </li>
      ))}
      {failing.length > shown.length && (
        <li>
          <button type="button" onClick={() => (areAllShown.value = true)}>
            Show {pluralize(failing.length - shown.length, "more failing webhook")}
          </button>
        </li>
      )}
    </ul>
  );
}

/** Shown if no existing webhook fails, although deleted ones may have undelivered events. */
function AllClear({ only }: { readonly only: string | undefined }) {
  if (newestDeliveries.value.length === 0) return null;
  const left = [...healthOfDeleted.value].filter(([id]) => only === undefined || String(id) === only);
  const lost = left.reduce((sum, [, { unsent }]) => sum + unsent.length, 0);
  if (lost > 0) {
    const to = left.filter(([, { unsent }]) => unsent.length > 0);
    return (
      <div class="verdict none calm">
        <State tone="none">No webhook is failing</State>
        <p>
          {capitalize(formatDeliveryCount(pluralize(lost, "delivery", "deliveries")))} to{" "}
          {pluralize(to.length, "deleted webhook")} did not arrive:{" "}
          <a
            href={buildPartHref("deliveries", {
              webhook: to.length === 1 ? String(to[0]![0]) : undefined,
              show: "lost",
            })}
          >
            show
          </a>
        </p>
      </div>
    );
  }
  return (
    <div class="verdict good calm">
      <State tone="good">
        {plannedDeliveries.value.length === 0 && !hasOlderDeliveries.value
          ? "All deliveries arrived"
          : "No webhook is failing"}
      </State>
    </div>
  );
}

function Card({ webhook, health }: { readonly webhook: Webhook; readonly health: WebhookHealth }) {
  const { id, title, url, status, workspace, forbidden } = webhook;
  const missing = findDeliveriesTo(id).filter(isOverdue);
  const tried = missing.find(({ attempts }) => attempts.length > 0 && !hasSucceeded(attempts.at(-1)!));
  const first = health.failed?.delivery ?? tried ?? missing[0];
  const isDisabled = status !== "ACTIVE";
  const { tone, words } = health.state.tone === "good" ? { tone: "warn" as const, words: "missed some" } : health.state;
  return (
    <section class={`verdict ${tone}`} aria-label={title}>
      <details>
        <summary title={`${title}: ${health.shortReason}`}>
          <State tone={tone}>{words}</State> <Name>{title}</Name> <span class="short">{health.shortReason}</span>
        </summary>
        <p>{health.explanation.join(" ")}</p>
        <p class="muted">
          {url} of <Name>{workspace}</Name>
        </p>
        {health.responseText !== null && (
          <p>
            Last response: <Name>{health.responseText}</Name>
          </p>
        )}
        <Steps steps={filterStepsWithoutButtons(health.steps)} />
        {missing.length > 1 && (
          <a href={buildPartHref("deliveries", { webhook: String(id), show: "undelivered" })}>
            {formatDeliveryCount(pluralize(missing.length, "undelivered delivery", "undelivered deliveries"))}
          </a>
        )}
      </details>
      <div class="actions">
        {first && (
          <a class="button" href={replaceTrace(`delivery:${first.id}`)} aria-label={`Why ${title} fails`}>
            Why?
          </a>
        )}
        {isDisabled && <EnableWebhook id={id} title={title} />}
        {forbidden === null && <SendAgain id={id} health={health} isDisabled={isDisabled} />}
      </div>
    </section>
  );
}

/**
 * Resends deliveries that are not retried, oldest first, as `svc emulator webhooks resend` does; otherwise the one that
 * failed last.
 */
function SendAgain(props: { readonly id: number; readonly health: WebhookHealth; readonly isDisabled: boolean }) {
  const { id, health, isDisabled } = props;
  const { unsent, failed } = health;
  const kind = isDisabled ? {} : { kind: "primary" as const };
  const one = unsent.length === 1 ? unsent[0] : unsent.length === 0 ? failed?.delivery : undefined;
  if (one) {
    return (
      <Action op="deliveries.resend" input={{ params: { id: one.id } }} {...kind} describe={toResendOutcome}>
        Send delivery {one.id} again
      </Action>
    );
  }
  if (unsent.length === 0) return null;
  return (
    <Action op="emulator-webhooks.resend" input={{ params: { id } }} {...kind} describe={describeResendAll}>
      Send {hasOlderDeliveries.value ? "all" : unsent.length} again
    </Action>
  );
}

function describeResendAll({ items, remaining }: OperationResult<"emulator-webhooks.resend">): ActionOutcome {
  if (remaining === 0) return `All ${items.length} arrived`;
  return { tone: "bad", words: `Resent up to delivery ${items.at(-1)?.id ?? "?"}; ${remaining} undelivered` };
}
