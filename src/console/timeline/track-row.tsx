import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { failuresUntilDisabled } from "../../api/webhook-retries.ts";
import { wordsOf } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { State, toneOf } from "../parts/state.tsx";
import { go, href, withTrace } from "../state/route.ts";
import type { Mark, Track } from "./tracks.ts";

const glyphs = new Map([
  ["good", "check"],
  ["bad", "cross"],
  ["open", "wait"],
  ["none", "dash"],
]);

/** One subscription, and its attempts in a row. One stop for the Tab key: arrows go from mark to mark. */
export function TrackRow({ track, from, to }: { readonly track: Track; readonly from: number; readonly to: number }) {
  const { webhook, marks, id, slots } = track;
  const active = useSignal<string | undefined>(undefined);
  const isMoving = useRef(false);
  const row = useRef<HTMLDivElement>(null);
  const chosen = Math.max(
    0,
    active.value === undefined ? firstAfter(marks, from) : marks.findIndex(({ key }) => key === active.value),
  );
  useLayoutEffect(() => {
    if (!isMoving.current) return;
    isMoving.current = false;
    const button = row.current?.querySelector<HTMLElement>('[tabindex="0"]');
    button?.focus({ preventScroll: true });
    button?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [active.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const place = destination(event.key, chosen, marks.length);
    if (place === undefined) return;
    event.preventDefault();
    isMoving.current = true;
    active.value = marks[place]!.key;
  };
  const drawn = marks.filter((mark, at) => at === chosen || (mark.x >= from && mark.x < to));
  return (
    <section class="track" aria-label={webhook?.title ?? `Webhook ${id}, deleted`}>
      <div class="track-head">
        <a href={href("timeline", id)}>{webhook?.title ?? `Webhook ${id}`}</a>
        {webhook ? (
          <State tone={toneOf(webhook.status)}>{wordsOf(webhook.status)}</State>
        ) : (
          <State tone="none">deleted</State>
        )}
        {webhook !== undefined && webhook.failure_count > 0 && (
          <span class="muted">
            {webhook.failure_count} of {failuresUntilDisabled} failures
          </span>
        )}
        <span class="muted url">{webhook?.url}</span>
      </div>
      {marks.length === 0 ? (
        <p class="muted nothing">nothing was sent</p>
      ) : (
        <div
          class="marks"
          role="toolbar"
          aria-label={`Attempts of ${webhook?.title ?? `webhook ${id}`}`}
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

function MarkButton(props: { readonly mark: Mark; readonly isStop: boolean; readonly onPress: () => void }) {
  const { mark } = props;
  const { more, name, kind, tone, x, slot, delivery } = mark;
  return (
    <button
      type="button"
      class={`mark ${kind} ${tone}`}
      style={{ left: `${x - 12}px`, top: `${slot * 28 + 4}px` }}
      tabIndex={props.isStop ? 0 : -1}
      title={`Delivery ${delivery}: ${name}`}
      aria-label={`Delivery ${delivery}: ${name}`}
      onClick={() => {
        props.onPress();
        go(more === undefined ? withTrace(`delivery:${delivery}`) : href("deliveries"));
      }}
    >
      {more === undefined ? <Icon name={glyphs.get(tone) ?? "dash"} /> : `+${more > 99 ? "99" : more}`}
    </button>
  );
}

const firstAfter = (marks: readonly Mark[], x: number): number => {
  const found = marks.findIndex((mark) => mark.x >= x);
  return found < 0 ? marks.length - 1 : found;
};

function destination(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(count - 1, at + 1);
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(0, at - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
