import { scheduledOf, sentOtherwise, turnName, turnOf } from "../../api/webhook-health/attempts.ts";
import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";
import { Problem } from "../api/problem.ts";
import { lengthOf, wordsOf } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Bytes } from "../parts/bytes.tsx";
import { Facts, Head, Missing } from "../parts/messages.tsx";
import { Name } from "../parts/name.tsx";
import { State } from "../parts/state.tsx";
import { Steps } from "../parts/steps.tsx";
import { VirtualTime } from "../parts/time.tsx";
import { toneOfStatus } from "../parts/tone.ts";
import { isToBeSkipped, webhookOf } from "../state/deliveries.ts";
import { useLoaded } from "../state/loaded.ts";
import { href, withTrace } from "../state/route.ts";
import { healthByWebhook } from "../state/webhook-health.ts";
import { answerOf, explain, resent, stepsFor } from "./explain.ts";
import { SignatureCheck } from "./signature-check.tsx";
import { standingOf } from "./standing.ts";

type Whole = Answer<"deliveries.show">;

/** One webhook: why it is where it is, each attempt with what came back, and the bytes. */
export function DeliveryPage({ id }: { readonly id: string }) {
  const { value, problem } = useLoaded(id, ["deliveries"], async () => {
    if (!/^[1-9]\d{0,14}$/.test(id))
      throw new Problem(404, "no-such-delivery", "No delivery is called so.", "Deliveries are numbers.");
    return call("deliveries.show", { params: { id: Number(id) } });
  });
  const delivery = value.value;
  if (!delivery) {
    if (!problem.value) return <p class="muted">Reading…</p>;
    return <Missing title={`Delivery ${id}`} problem={problem.value} all="deliveries" />;
  }
  const webhook = webhookOf(delivery.webhook_id);
  const { tone, words } = standingOf(delivery);
  const answer = delivery.attempts.at(-1)?.answer;
  const isDisabled = webhook !== undefined && webhook.status !== "ACTIVE";
  return (
    <>
      <Head
        title={`Delivery ${delivery.id}`}
        about={
          <>
            {wordsOf(delivery.activity)}, to <Name>{webhook?.title ?? `webhook ${delivery.webhook_id}`}</Name>
          </>
        }
      >
        <a class="button" href={withTrace(`delivery:${delivery.id}`)}>
          Why?
        </a>
        {isDisabled && (
          <Action op="emulator-webhooks.enable" input={{ params: { id: webhook.id } }} message={() => "Enabled"}>
            Enable webhook {webhook.id}
          </Action>
        )}
        <Action
          op="deliveries.resend"
          input={{ params: { id: delivery.id } }}
          kind="primary"
          disabled={delivery.webhook_status === "DELETED" || webhook?.forbidden != null}
          message={resent}
        >
          Send again
        </Action>
      </Head>
      <div class={`verdict ${tone}`}>
        <State tone={tone}>{words}</State>
        <p>{explain(delivery, webhook)}</p>
        {answer && (
          <p class="break">
            It answered: <Name>{answer}</Name>
          </p>
        )}
        <Steps steps={stepsFor(delivery, healthByWebhook.value.get(delivery.webhook_id))} />
      </div>
      <Attempts {...delivery} />
      <h2>What is sent</h2>
      <Facts
        rows={[
          ["To", <span class="break">{webhook?.url ?? delivery.attempts.at(-1)?.url ?? "–"}</span>],
          [
            "About",
            delivery.composite_id ? (
              <a href={href("contracts", delivery.composite_id)}>{delivery.composite_id}</a>
            ) : (
              "–"
            ),
          ],
          ["Happened at", <VirtualTime at={delivery.created_at} />],
        ]}
      />
      <h3>Headers</h3>
      <Facts
        rows={Object.entries(delivery.request_headers).map(([name, sent]) => [
          name,
          sent === "" ? <span class="muted">not shown: it may be a secret</span> : <code class="break">{sent}</code>,
        ])}
      />
      <Bytes text={delivery.request_body} label="Body, the same bytes in every attempt that no fault changed" />
      <SignatureCheck
        body={delivery.request_body}
        workspace={delivery.workspace_id}
        attempts={delivery.attempts}
        header={headerOf(delivery.request_headers, "x-svc-webhook-content-hash")}
      />
    </>
  );
}

function Attempts(delivery: Whole) {
  const { attempts, created_at, next_attempt_at: next } = delivery;
  const made = scheduledOf(attempts).length;
  if (attempts.length === 0 && next === null) return null;
  return (
    <>
      <h2>Attempts</h2>
      <ol class="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <details
              open={attempt === attempts.at(-1) && attempt.response_body !== null && attempt.response_body !== ""}
            >
              <summary>
                <State tone={toneOfStatus(attempt.status)}>{answerOf(attempt)}</State>
                <span>
                  {turnName(attempt, attempts)}
                  {attempt.fault && `, fault: ${wordsOf(attempt.fault.effect)}`}
                </span>
                <span class="muted number">+{lengthOf(Date.parse(attempt.at) - Date.parse(created_at))}</span>
                <span class="muted">
                  <VirtualTime at={attempt.at} />
                </span>
              </summary>
              {attempt.error && <p>{attempt.error.message}</p>}
              {sentOtherwise([attempt]).map((sentence) => (
                <p key={sentence}>{sentence.slice(sentence.indexOf(": ") + 2)}</p>
              ))}
              {attempt.response_body ? (
                <Bytes text={attempt.response_body} label={`The receiver's answer to ${turnName(attempt, attempts)}`} />
              ) : (
                <p class="muted">
                  The receiver {attempt.status === null ? "gave no answer" : "answered without a body"}, after{" "}
                  {attempt.duration_ms} ms.
                </p>
              )}
            </details>
          </li>
        ))}
        {next !== null && (
          <li class="planned">
            {isToBeSkipped(delivery) ? (
              <>
                <State tone="none">skipped then</State>
                <span>unless the webhook is enabled before</span>
              </>
            ) : (
              <>
                <State tone="open">to come</State>
                <span>
                  {turnOf(made + 1)}
                  {delivery.put_off && `, put off by a fault: ${wordsOf(delivery.put_off.effect)}`}
                </span>
              </>
            )}
            <span class="muted number">+{lengthOf(Date.parse(next) - Date.parse(created_at))}</span>
            <span class="muted">
              <VirtualTime at={next} />
            </span>
          </li>
        )}
      </ol>
    </>
  );
}

const headerOf = (headers: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
