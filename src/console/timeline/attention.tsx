import { answerOf, succeeded } from "../deliveries/explain.ts";
import { counted } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { State } from "../parts/state.tsx";
import { type Delivery, newestFirst, planned, type Webhook } from "../state/deliveries.ts";
import { href, withTrace } from "../state/route.ts";

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

/** It did not arrive, and is not tried again by itself. */
const isLost = ({ outcome }: Delivery): boolean => outcome === "failed" || outcome.startsWith("skipped");

function Card({ webhook }: { readonly webhook: Webhook }) {
  const { id, title, url, status, failure_count: failures } = webhook;
  const own = newestFirst.value.filter(({ webhook_id }) => webhook_id === id);
  const tried = own.find(({ attempts }) => attempts.length > 0 && !succeeded(attempts.at(-1)!));
  const missing = own.filter(({ outcome }) => outcome !== "delivered" && outcome !== "waiting");
  const resent = tried ?? missing[0];
  const isDisabled = status !== "ACTIVE";
  const tone = isDisabled ? "bad" : "warn";
  return (
    <section class={`verdict ${tone}`} aria-label={title}>
      <div class="words">
        <p>
          <State tone={tone}>{isDisabled ? "disabled" : failures > 0 ? "failing" : "missed some"}</State>{" "}
          <strong>{title}</strong> <span class="muted break">{url}</span>
        </p>
        <p>{sentence(webhook, tried, failures, missing.length)}</p>
        <p class="muted">
          {isDisabled ? "Mend the receiver, enable it, then send again." : "Mend the receiver, then send again."}
        </p>
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
            message={() => `${title} is enabled`}
          >
            Enable
          </Action>
        )}
        {resent && (
          <Action
            op="deliveries.resend"
            input={{ params: { id: resent.id } }}
            {...(isDisabled ? {} : { kind: "primary" as const })}
            message={({ attempts }) => `Sent again: ${answerOf(attempts.at(-1)!)}`}
          >
            Send {resent.id} again
          </Action>
        )}
        {missing.length > 1 && (
          <a href={href("deliveries")}>{counted(missing.length, "delivery", "deliveries")} not arrived</a>
        )}
      </div>
    </section>
  );
}

function sentence({ status }: Webhook, tried: Delivery | undefined, failures: number, missing: number): string {
  if (status === "DISABLED_BY_USER") return "Somebody disabled it; what comes due is skipped.";
  if (status === "ACTIVE" && failures === 0) {
    return `It works, but ${counted(missing, "delivery has", "deliveries have")} not arrived and ${missing === 1 ? "is" : "are"} not tried again.`;
  }
  const last = tried?.attempts.at(-1);
  const why = last
    ? last.error
      ? last.error.message.replace(/\.$/, "")
      : `The receiver answered ${last.status}`
    : "Nothing was tried";
  const row = failures === 1 ? "1 attempt failed" : `${failures} attempts in a row failed`;
  return status === "ACTIVE"
    ? `${why}. ${row}; the sixth disables it.`
    : `${why}. ${row}, so it is disabled${missing > 1 ? " and what comes due is skipped" : ""}.`;
}
