import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  describeAlteredAttempts,
  filterScheduled,
  formatAttemptLabel,
  formatAttemptNumber,
  wasSentUnaltered,
} from "../../api/webhook-health/attempts.ts";
import { CallError, callOperation, canReadSecrets } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatElapsed, getStatusTone, pluralize, splitInvisible, toWords } from "../format.ts";
import { Action, Copy } from "../parts/action.tsx";
import { Facts, Head, Missing, Name, State, VirtualTime } from "../parts/messages.tsx";
import { Steps } from "../parts/rows.tsx";
import { useWorkspaces } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { findWebhook, healthByWebhook, isToBeSkipped } from "../state/deliveries.ts";
import { buildHref, replaceTrace } from "../state/route.ts";
import { describeResponse, explainDelivery, findDeliverySteps, toResendOutcome, toStatusLabel } from "./explain.ts";
import { computeSignature, getAlgorithmName, getSignature, getSigningProblem } from "./signature.ts";

type FullDelivery = OperationResult<"deliveries.show">;

/** Shows one webhook delivery: the reason for its status, each attempt with its response, and the bytes. */
export function DeliveryPage({ id }: { readonly id: string }) {
  const { value: delivery, problem } = useLoaded(id, ["deliveries"], async () => {
    if (!/^[1-9]\d{0,14}$/.test(id)) throw new CallError(404, "Invalid delivery ID.", "Delivery IDs are numbers.");
    return callOperation("deliveries.show", { params: { id: Number(id) } });
  });
  if (problem) return <Missing title={`Delivery ${id}`} problem={problem} all="deliveries" />;
  if (!delivery) return <p class="muted">Loading…</p>;
  const webhook = findWebhook(delivery.webhook_id);
  const { tone, words } = toStatusLabel(delivery);
  const responseText = delivery.attempts.at(-1)?.response;
  const isDisabled = webhook !== undefined && webhook.status !== "ACTIVE";
  return (
    <>
      <Head
        title={`Delivery ${delivery.id}`}
        about={
          <>
            {toWords(delivery.activity)}, to <Name>{webhook?.title ?? `webhook ${delivery.webhook_id}`}</Name>
            {delivery.label !== undefined && (
              <>
                , for <Name>{delivery.label}</Name>
              </>
            )}
          </>
        }
      >
        <a class="button" href={replaceTrace(`delivery:${delivery.id}`)}>
          Why?
        </a>
        {isDisabled && (
          <Action op="emulator-webhooks.enable" input={{ params: { id: webhook.id } }} describe={() => "Enabled"}>
            Enable webhook {webhook.id}
          </Action>
        )}
        <Action
          op="deliveries.resend"
          input={{ params: { id: delivery.id } }}
          kind="primary"
          disabled={delivery.webhook_status === "DELETED" || webhook?.forbidden != null}
          describe={toResendOutcome}
        >
          Send again
        </Action>
      </Head>
      <div class={`verdict ${tone}`}>
        <State tone={tone}>{words}</State>
        <p>{explainDelivery(delivery, webhook)}</p>
        {responseText && (
          <p>
            Last response: <Name>{responseText}</Name>
          </p>
        )}
        <Steps steps={findDeliverySteps(delivery, healthByWebhook.value.get(delivery.webhook_id))} />
      </div>
      <Attempts {...delivery} />
      <h2>Content</h2>
      <Facts
        rows={[
          ["To", webhook?.url ?? delivery.attempts.at(-1)?.url ?? "–"],
          [
            "About",
            delivery.composite_id ? (
              <a href={buildHref("contracts", delivery.composite_id)}>{delivery.composite_id}</a>
            ) : (
              "–"
            ),
          ],
          ["Activity at", <VirtualTime at={delivery.created_at} />],
        ]}
      />
      <h3>Headers</h3>
      <Facts
        rows={Object.entries(delivery.request_headers).map(([name, sent]) => [
          name,
          sent === "" && delivery.label === undefined ? (
            <span class="muted">hidden (may be a secret)</span>
          ) : (
            <code>{sent}</code>
          ),
        ])}
      />
      <Bytes text={delivery.request_body} label="Body (the same bytes in every attempt, unless a fault changed them)" />
      <SignatureCheck delivery={delivery} />
    </>
  );
}

function Attempts(delivery: FullDelivery) {
  const { attempts, created_at, next_attempt_at: next } = delivery;
  const scheduledCount = filterScheduled(attempts).length;
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
                <State tone={getStatusTone(attempt.status)}>{describeResponse(attempt)}</State>
                <span>
                  {formatAttemptLabel(attempt, delivery)}
                  {attempt.fault && `, fault: ${toWords(attempt.fault.effect)}`}
                </span>
                <span class="muted number">+{formatElapsed(Date.parse(attempt.at) - Date.parse(created_at))}</span>
                <span class="muted">
                  <VirtualTime at={attempt.at} />
                </span>
              </summary>
              {attempt.error && <p>{attempt.error.message}</p>}
              {describeAlteredAttempts(delivery, [attempt]).map((sentence) => (
                <p key={sentence}>{sentence.slice(sentence.indexOf(": ") + 2)}</p>
              ))}
              {attempt.response_body ? (
                <Bytes
                  text={attempt.response_body}
                  label={`Response of the receiver to ${formatAttemptLabel(attempt, delivery)}`}
                />
              ) : (
                <p class="muted">
                  The receiver {attempt.status === null ? "did not respond" : "responded without a body"}, after{" "}
                  {attempt.duration_ms} ms.
                </p>
              )}
            </details>
          </li>
        ))}
        {next !== null && (
          <li class="planned">
            {isToBeSkipped(delivery) ? <State tone="none">skipped</State> : <State tone="open">scheduled</State>}
            <span>
              {formatAttemptNumber(scheduledCount + 1, delivery)}
              {delivery.postponement && `, postponed by a fault: ${toWords(delivery.postponement.effect)}`}
            </span>
            <span class="muted number">+{formatElapsed(Date.parse(next) - Date.parse(created_at))}</span>
            <span class="muted">
              <VirtualTime at={next} />
            </span>
          </li>
        )}
      </ol>
    </>
  );
}

/** Signs the bytes in the browser, with the key of the workspace, and compares the result with the header. */
function SignatureCheck({ delivery }: { readonly delivery: FullDelivery }) {
  const { request_body: body, request_headers: headers, workspace_id: workspaceId, attempts } = delivery;
  // The signature before any fault changes it.
  const signature = getSignature(headers);
  const computed = useSignal<string | undefined>(undefined);
  const bytes = new TextEncoder().encode(body);
  const workspace = useWorkspaces()?.find(({ id }) => id === workspaceId);
  const key = workspace?.hmac_key;
  const problem =
    getSigningProblem() ?? (canReadSecrets.value ? undefined : "a token with the role read shows no keys.");
  useEffect(() => {
    if (key === undefined || problem) return;
    void computeSignature(key, new TextEncoder().encode(body)).then((text) => {
      computed.value = text;
    });
  }, [key, body, computed]);
  const alterations = describeAlteredAttempts(delivery).map((sentence) => (
    <p key={sentence} class="warn">
      {sentence}
    </p>
  ));
  if (problem)
    return (
      <>
        {alterations}
        <p class="muted">Signature check unavailable: {problem}</p>
      </>
    );
  if (computed.value === undefined) return <p class="muted">Signing…</p>;
  return (
    <div class="signature">
      {signature !== undefined && (
        <SignatureVerdict fits={signature === computed.value} isSent={attempts.every(wasSentUnaltered)} />
      )}
      {alterations}
      <p class="muted">
        {getAlgorithmName()} of {pluralize(bytes.length, "byte")}, computed in this page with the key of workspace{" "}
        <Name>{workspace?.name ?? String(workspaceId)}</Name>:
      </p>
      <code>{computed.value}</code>
    </div>
  );
}

function SignatureVerdict({ fits, isSent }: { readonly fits: boolean; readonly isSent: boolean }) {
  if (!fits) return <State tone="bad">signature does not match</State>;
  if (isSent) return <State tone="good">signature matches</State>;
  return <State tone="warn">signature matches, but not every attempt sent these bytes</State>;
}

/** Shows a string exactly as it was sent or received, with invisible characters marked. */
function Bytes({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure class="bytes">
      <figcaption>
        <span>{label}</span>
        <span class="muted">{pluralize(new TextEncoder().encode(text).length, "byte")}</span>
        <Copy text={text} of={label} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard. */}
      <section tabIndex={0} aria-label={label}>
        <pre dir="ltr">
          {splitInvisible(text).map(({ words, isCode }, at) =>
            isCode ? <mark key={at}>{words}</mark> : <span key={at}>{words}</span>,
          )}
        </pre>
      </section>
    </figure>
  );
}
