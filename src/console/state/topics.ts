import { type Signal, signal } from "@preact/signals";
import { systemWall } from "../../base/clock.ts";

/** What changes in the emulator: what is shown of it is read again then. */
export const topics = [
  "requests",
  "deliveries",
  "contracts",
  "clock",
  "faults",
  "devices",
  "emails",
  "snapshots",
] as const;
export type Topic = (typeof topics)[number];

const versions = new Map<Topic, Signal<number>>(topics.map((topic) => [topic, signal(0)]));

/** Counts the changes of a topic. */
export const versionOf = (topic: Topic): Signal<number> => versions.get(topic)!;

const changed = new Set<Topic>();
let isPlanned = false;

/** How long changes are gathered: an advance brings hundreds in a moment. */
const gatherMs = 60;

/** Says that something has changed; those who show it read it again in a moment, once for many changes. */
export function touch(...which: readonly Topic[]): void {
  for (const topic of which) changed.add(topic);
  if (isPlanned || changed.size === 0) return;
  isPlanned = true;
  void systemWall.sleep(gatherMs).then(() => {
    isPlanned = false;
    for (const topic of changed) versionOf(topic).value += 1;
    changed.clear();
  });
}

export const touchAll = (): void => touch(...topics);
