import { computed, signal } from "@preact/signals";
import { systemWallClock } from "../../base/clock.ts";
import { createLatestReader } from "../../base/concurrency.ts";
import { callOperation, connection } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatDate, formatTime } from "../format.ts";

export type Clock = OperationResult<"clock.show">;

/** The last reading of the clock, with its wall-clock time. */
export const clock = signal<(Clock & { readonly readAt: number }) | undefined>(undefined);
const wallNow = signal(systemWallClock.now());

export const { set: setClock, read: readClock } = createLatestReader(
  () => callOperation("clock.show"),
  (read) => {
    wallNow.value = systemWallClock.now();
    clock.value = { ...read, readAt: systemWallClock.now() };
  },
);

/**
 * Virtual time in milliseconds, extrapolated since the last response of the emulator. Rounded down to seconds, so that
 * dependent views are rendered once a second.
 */
export const nowSeconds = computed(() => {
  const read = clock.value;
  if (!read) return 0;
  const at = Date.parse(read.now);
  const now = read.mode === "real" ? at + Math.max(0, wallNow.value - read.readAt) * read.speed : at;
  return Math.floor(now / 1_000) * 1_000;
});

const today = computed(() => formatDate(nowSeconds.value));

/** Formats a virtual time, with its date if that is not today. */
export const formatMoment = (at: string): string =>
  `${formatDate(at) === today.value ? "" : `${formatDate(at)} `}${formatTime(at)}`;

/** Advances the shown time. It stops while the page is hidden, and while the time is unknown. */
export async function tickDisplayedClock(): Promise<never> {
  for (;;) {
    await systemWallClock.sleep(250);
    const follows = connection.value === "live" || connection.value === "polling";
    const isKnown = follows && clock.value?.mode === "real";
    if (document.visibilityState === "visible" && isKnown) wallNow.value = systemWallClock.now();
  }
}

/** Role of this page's process among those that share its store; undefined until the first response. */
export const readiness = signal<OperationResult<"emulator.ready"> | undefined>(undefined);

export const loadReadiness = async (): Promise<void> => {
  readiness.value = await callOperation("emulator.ready");
};
