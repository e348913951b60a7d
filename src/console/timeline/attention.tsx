import { resent as outcomeOf, succeeded } from "../deliveries/explain.ts";
import { standingOfWebhook } from "../deliveries/standing.ts";
import { counted } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Name } from "../parts/name.tsx";
import { isolated } from "../parts/names.ts";
import { State } from "../parts/state.tsx";
import { isLost, newestFirst, planned, type Webhook } from "../state/deliveries.ts";
import { hrefOfPart, withTrace } from "../state/route.ts";
import { isForbidden, sentence, todo } from "./sentence.ts";

/** What asks for somebody: a card for each webhook that fails, with why, and what to press. */
export function Attention({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const lost = new Set(newestFirst.value.filter(isLost).map(({ webhook_id }) => webhook_id));
  const failing = webhooks.filter(
    ({ id, status, failure_count }) => status !== "ACTIVE" || failure_count > 0 || lost.has(id),
  );
  if (failing.length === 0) {
    return newestFirst.value.length === 0 ? null : (
      <div class="verdict good calm">
        <State tone="good">{planned.value.length === 0 ? "Everything arrived" : "Nothing fails"}</State>
      </div>
    );
  }
  return (
    <ul class="attention">
      {failing.slice(0, 6).map((webhook) => (
        <li key={webhook.id}>
          <Card webhook={webhook} />
        </li>
      ))}
      {failing.length > 6 && <li class="muted">And {failing.length - 6} more webhooks fail.</li>}
    </ul>
  );
}

function Card({ webhook }: { readonly webhook: Webhook }) {
  const { id, title, url, status, failure_count: failures } = webhook;
  const standing = standingOfWebhook(webhook);
  const own = newestFirst.value.filter(({ webhook_id }) => webhook_id === id);
  const tried = own.find(({ attempts }) => attempts.length > 0 && !succeeded(attempts.at(-1)!));
  const missing = own.filter(({ outcome }) => outcome !== "delivered" && outcome !== "waiting");
  const resent = tried ?? missing[0];
  const isDisabled = status !== "ACTIVE";
  const missed = isForbidden(webhook) ? "address not allowed" : "missed some";
  const tone = standing.tone === "bad" ? "bad" : "warn";
  return (
    <section class={`verdict ${tone}`} aria-label={title}>
      <div class="words">
        <p>
          <State tone={tone}>{isDisabled || failures > 0 ? standing.words : missed}</State>{" "}
          <strong>
            <Name>{title}</Name>
          </strong>{" "}
          <span class="muted break">{url}</span>
        </p>
        <p>{sentence(webhook, own, tried)}</p>
        <p class="muted">{todo(webhook)}</p>
      </div>
      <div class="actions">
        {resent && (
          <a class="button" href={withTrace(`delivery:${resent.id}`)} aria-label={`Why ${title} fails`}>
            Why?
          </a>
        )}
        {isDisabled && (
          <Action
            op="emulator-webhooks.enable"
            input={{ params: { id } }}
            kind="primary"
            name={`Enable ${title}`}
            message={() => `${isolated(title)} is enabled`}
          >
            Enable
          </Action>
        )}
        {resent && (
          <Action
            op="deliveries.resend"
            input={{ params: { id: resent.id } }}
            {...(isDisabled ? {} : { kind: "primary" as const })}
            message={outcomeOf}
          >
            Send delivery {resent.id} again
          </Action>
        )}
        {missing.length > 1 && (
          <a href={hrefOfPart("deliveries", { webhook: String(id), show: "not-arrived" })}>
            {counted(missing.length, "delivery", "deliveries")} not arrived
          </a>
        )}
      </div>
    </section>
  );
}
