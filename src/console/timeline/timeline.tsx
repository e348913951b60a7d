import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ActivityHistory } from "../../api/webhook-health/streak.ts";
import { callOperation } from "../api/call.ts";
import { formatDate, formatTime } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { Empty, Head } from "../parts/messages.tsx";
import { TruncationNote } from "../parts/rows.tsx";
import { isInWorkspace, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { nowSeconds } from "../state/clock.ts";
import { healthByWebhook, newestDeliveries, totalDeliveries, webhooks } from "../state/deliveries.ts";
import { buildHref } from "../state/route.ts";
import { Attention } from "./attention.tsx";
import { TrackRow } from "./track-row.tsx";
import { buildTimeline } from "./tracks.ts";

/** Margin beyond the visible part, so that marks are rendered before they scroll into view. */
const margin = 240;

/** Shows past and future deliveries of every webhook over time. Newcomers see this view first. */
export function Timeline({ only }: { readonly only: string | undefined }) {
  const hooks = useComputed(() =>
    (webhooks.value ?? []).filter(({ id, workspace_id }) =>
      only === undefined ? isInWorkspace(workspace_id) : String(id) === only,
    ),
  );
  const drawn = useComputed(() => {
    const wanted = newestDeliveries.value.filter(({ webhook_id, workspace_id }) =>
      only === undefined ? isInWorkspace(workspace_id) : String(webhook_id) === only,
    );
    return buildTimeline(wanted, hooks.value, nowSeconds.value);
  });
  // The reason for an empty track needs the past activities.
  const needsActivities = hooks.value.some(({ id }) => healthByWebhook.value.get(id)?.isUntouched);
  const { value: happened } = useLoaded(String(needsActivities), ["contracts"], async () =>
    needsActivities ? callOperation("activities.list") : undefined,
  );
  if (webhooks.value === undefined) return <p class="muted">Loading…</p>;
  return (
    <>
      <Head
        title={only === undefined ? "Timeline" : `Webhook ${only}`}
        about="Delivered and scheduled webhook attempts. Times are virtual; use the bar above to advance the clock."
      >
        {only === undefined ? (
          <WorkspaceFilter />
        ) : (
          <a class="button" href={buildHref("webhooks", only)}>
            Settings
          </a>
        )}
      </Head>
      {hooks.value.length === 0 && drawn.value.tracks.length === 0 ? (
        only === undefined ? (
          <Empty title="No webhooks yet">
            <p>Create a webhook to see its delivery attempts here.</p>
            <Command text="svc webhooks create --title Mine --url http://localhost:3000/hooks --only-for-activities CONTRACT_CREATED" />
          </Empty>
        ) : (
          <Empty title="Webhook not found">
            <a href="#/timeline">Show all</a>
          </Empty>
        )
      ) : (
        <>
          <Attention webhooks={hooks.value} only={only} />
          <Tracks drawn={drawn.value} happened={happened} />
          <TruncationNote
            shown={newestDeliveries.value.length}
            of={totalDeliveries.value}
            what="delivery"
            many="deliveries"
            more="Older deliveries are not shown."
          />
        </>
      )}
    </>
  );
}

function Tracks(props: {
  readonly drawn: ReturnType<typeof buildTimeline>;
  readonly happened: ActivityHistory | undefined;
}) {
  const { axis, tracks, now } = props.drawn;
  const scroller = useRef<HTMLElement>(null);
  const seen = useSignal({ from: 0, to: 3_000 });
  const isFollowing = useRef(true);
  const look = () => {
    const element = scroller.current;
    if (!element) return;
    const { scrollLeft, clientWidth } = element;
    isFollowing.current = Math.abs(scrollLeft - getFollowedOffset(now, clientWidth)) < 120;
    // The offset is rounded to steps, so that most scroll events cause no render.
    const from = Math.floor((scrollLeft - margin) / margin) * margin;
    const to = from + (Math.ceil(clientWidth / margin) + 3) * margin;
    if (from !== seen.value.from || to !== seen.value.to) seen.value = { from, to };
  };
  useEffect(() => {
    const element = scroller.current;
    if (element && isFollowing.current) element.scrollLeft = getFollowedOffset(now, element.clientWidth);
    look();
  }, [now]);
  const { from, to } = seen.value;
  const ticks = axis.ticks.filter(({ x }) => x >= from && x < to);
  return (
    <section
      class="timeline"
      aria-label="Attempts by webhook, from left to right in virtual time"
      ref={scroller}
      onScroll={look}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard.
      tabIndex={0}
    >
      <div class="canvas" style={{ width: `${axis.width}px` }}>
        {/* Comes first, so that the rest covers it. */}
        <div class="now-line" style={{ left: `${now}px` }} />
        <div class="axis" aria-hidden="true">
          {selectLabelledTicks(ticks, now).map(({ at, x, gap, isLabelled, day }) => (
            <span key={at}>
              {gap && (
                <span class="gap" style={{ left: `${x - 42}px` }}>
                  {gap}
                </span>
              )}
              {isLabelled && (
                <span class="tick number" style={{ left: `${x}px` }}>
                  {day && <span class="day">{day}</span>}
                  {formatTime(at)}
                </span>
              )}
            </span>
          ))}
          <span class="tick now number" style={{ left: `${now}px` }}>
            now
          </span>
        </div>
        {tracks.map((track) => (
          <TrackRow key={track.id} track={track} happened={props.happened} from={from} to={to} />
        ))}
      </div>
    </section>
  );
}

/** Computes the default scroll offset of the current time, so that the future and more of the past are visible. */
const getFollowedOffset = (now: number, width: number): number => Math.max(0, now - width * 0.6);

/** The distance between the centers of two labels, and the extra width on each side of a label with a date. */
const label = { apart: 66, day: 20 } as const;

/**
 * Selects the labelled moments. A label is as wide as two steps, so not every moment has one. The current time has a
 * separate label. The first label of a day has the date.
 */
function selectLabelledTicks<Tick extends { readonly x: number; readonly at: number }>(
  ticks: readonly Tick[],
  now: number,
) {
  const isOneDay = ticks.length === 0 || formatDate(ticks[0]!.at) === formatDate(ticks.at(-1)!.at);
  let last = Number.NEGATIVE_INFINITY;
  let today = "";
  return ticks.map((tick) => {
    const date = formatDate(tick.at);
    const day = isOneDay || date === today ? undefined : date.slice(5);
    const more = day === undefined ? 0 : label.day;
    const isLabelled = tick.x - last >= label.apart + more && Math.abs(tick.x - now) > 44 + more;
    if (!isLabelled) return { ...tick, isLabelled, day: undefined };
    last = tick.x + more;
    today = date;
    return { ...tick, isLabelled, day };
  });
}
