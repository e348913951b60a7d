import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type ActivityHistory, explainNoDeliveries } from "../../api/webhook-health/streak.ts";
import { failuresUntilDisabled } from "../../api/webhook-retries.ts";
import { toIsoSeconds } from "../../base/clock.ts";
import { isolateText, pluralize } from "../format.ts";
import { Icon, Name, State, toneIcons } from "../parts/messages.tsx";
import { formatMoment, nowSeconds } from "../state/clock.ts";
import { areDeliveriesRead, hasOlderDeliveries, healthByWebhook, type Webhook } from "../state/deliveries.ts";
import { buildHref, buildPartHref, navigate, replaceTrace } from "../state/route.ts";
import type { AttemptMark, Track } from "./tracks.ts";

/** Shows one webhook with its attempts in a row. The row is one tab stop: arrow keys move between marks. */
export function TrackRow(props: {
  readonly track: Track;
  readonly happened: ActivityHistory | undefined;
  readonly from: number;
  readonly to: number;
}) {
  const { happened, from, to } = props;
  const { webhook, marks, id, slots } = props.track;
  const active = useSignal<string | undefined>(undefined);
  const isMoving = useRef(false);
  const row = useRef<HTMLDivElement>(null);
  const chosen = Math.max(
    0,
    active.value === undefined ? findFirstAfter(marks, from) : marks.findIndex(({ key }) => key === active.value),
  );
  useLayoutEffect(() => {
    if (!isMoving.current) return;
    isMoving.current = false;
    const button = row.current?.querySelector<HTMLElement>('[tabindex="0"]');
    button?.focus({ preventScroll: true });
    button?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [active.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const place = findDestination(event.key, chosen, marks);
    if (place === undefined) return;
    event.preventDefault();
    isMoving.current = true;
    active.value = marks[place]!.key;
  };
  const title = webhook ? isolateText(webhook.title) : "deleted";
  const drawn = marks.filter((mark, at) => at === chosen || (mark.x >= from && mark.x < to));
  return (
    <section class="track" aria-label={`Webhook ${id}: ${title}`}>
      <div class="track-head">
        <a href={buildHref("timeline", id)}>
          <Name>{webhook?.title ?? `Webhook ${id}`}</Name>
        </a>
        {webhook ? <WebhookState webhook={webhook} /> : <State tone="none">deleted</State>}
        {webhook && (
          <span class="muted">
            of <Name>{webhook.workspace}</Name>
          </span>
        )}
        <span class="muted">{webhook?.url}</span>
      </div>
      {marks.length === 0 ? (
        <p class="muted nothing">{areDeliveriesRead.value ? explainEmpty(webhook, happened) : "Loading…"}</p>
      ) : (
        <div
          class="marks"
          role="toolbar"
          aria-label={`Attempts of ${title}`}
          ref={row}
          style={{ height: `${slots * 28 + 8}px` }}
          onKeyDown={onKeyDown}
        >
          {drawn.map((mark) => (
            <MarkButton
              key={mark.key}
              mark={mark}
              isStop={mark.key === marks[chosen]?.key}
              onPress={() => {
                active.value = mark.key;
              }}
            />
          ))}
        </div>
      )}
    </section>
  );
}

function explainEmpty(webhook: Webhook | undefined, happened: ActivityHistory | undefined): string {
  if (webhook === undefined) return "nothing was sent";
  if (hasOlderDeliveries.value) return "none of the newest deliveries";
  return explainNoDeliveries(webhook, happened, { formatTime: formatMoment, now: nowSeconds.value });
}

function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const { status, failure_count: failures } = webhook;
  const { tone, words } = healthByWebhook.value.get(webhook.id)?.state ?? { tone: "none", words: "…" };
  return (
    <>
      <State tone={tone}>{words}</State>
      {failures > 0 && (
        <span class="muted">
          {status === "ACTIVE"
            ? `${failures} of ${failuresUntilDisabled} failures`
            : `${pluralize(failures, "failure")} in a row`}
        </span>
      )}
    </>
  );
}

function MarkButton(props: { readonly mark: AttemptMark; readonly isStop: boolean; readonly onPress: () => void }) {
  const { mark } = props;
  const { more, name, kind, tone, x, slot, delivery } = mark;
  const count = more === undefined ? undefined : more > 99 ? "99+" : `+${more}`;
  // The visible text is part of the name, so that it can be spoken (WCAG 2.5.3).
  const label = count === undefined ? `Delivery ${delivery}: ${name}` : `${count}, ${name}`;
  return (
    <button
      type="button"
      class={`mark ${kind} ${tone} ${more === undefined ? "" : "more"}`}
      style={{ left: `${x - 12}px`, top: `${slot * 28 + 4}px` }}
      tabIndex={props.isStop ? 0 : -1}
      title={label}
      aria-label={label}
      onClick={() => {
        props.onPress();
        navigate(
          more === undefined
            ? replaceTrace(`delivery:${delivery}`)
            : buildPartHref("deliveries", { webhook: String(mark.webhook), at: toIsoSeconds(mark.at) }),
        );
      }}
    >
      {count ?? <Icon name={toneIcons.get(tone)!} />}
    </button>
  );
}

const findFirstAfter = (marks: readonly AttemptMark[], x: number): number => {
  const found = marks.findIndex((mark) => mark.x >= x);
  return found < 0 ? marks.length - 1 : found;
};

/** Finds the target of an arrow key at a mark: right and left in time, down and up within a moment. */
export function findDestination(
  key: string,
  at: number,
  marks: readonly Pick<AttemptMark, "x" | "slot">[],
): number | undefined {
  const { x, slot } = marks[at]!;
  switch (key) {
    case "ArrowDown":
      return marks[at + 1]?.x === x ? at + 1 : at;
    case "ArrowUp":
      return marks[at - 1]?.x === x ? at - 1 : at;
    case "ArrowRight": {
      const next = marks.findIndex((mark) => mark.x > x);
      return next < 0 ? at : findInStack(marks, next, slot);
    }
    case "ArrowLeft": {
      const before = marks.findLast((mark) => mark.x < x);
      const first = marks.findIndex((mark) => mark.x === before?.x);
      return first < 0 ? at : findInStack(marks, first, slot);
    }
    case "Home":
      return 0;
    case "End":
      return marks.length - 1;
    default:
      return undefined;
  }
}

/** Finds the mark at that height in the stack that starts there, or the lowest one. */
function findInStack(marks: readonly Pick<AttemptMark, "x" | "slot">[], first: number, slot: number): number {
  let at = first;
  while (marks[at]!.slot < slot && marks[at + 1]?.x === marks[first]!.x) at += 1;
  return at;
}
