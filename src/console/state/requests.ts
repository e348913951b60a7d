import { computed, signal } from "@preact/signals";
import { call } from "../api/call.ts";
import type { Answer } from "../api/operations.ts";

export type Request = Answer<"requests.list">["items"][number];

const all = signal<ReadonlyMap<number, Request>>(new Map());
export const areRead = signal(false);

export const newestRequests = computed(() => [...all.value.values()].sort((a, b) => b.id - a.id));

/** Of each service; more are not held by a page. */
const most = 1_000;
const services = ["router", "contracts", "storage"] as const;

/** Reads the log, without what the page itself asks the control plane. */
export async function readRequests(): Promise<void> {
  const lists = await Promise.all(
    services.map((service) => call("requests.list", { query: { service, limit: most } })),
  );
  all.value = new Map(lists.flatMap(({ items }) => items).map((item) => [item.id, item]));
  areRead.value = true;
}

/** Takes requests as events tell them: of the control plane only what changed something. */
export function takeRequests(added: readonly Request[]): void {
  const next = new Map([...all.value, ...added.map((item) => [item.id, item] as const)]);
  for (const id of next.keys()) {
    if (next.size <= services.length * most) break;
    next.delete(id);
  }
  all.value = next;
}

export const requestOf = (id: number): Request | undefined => all.value.get(id);

export const clearRequests = (): void => {
  all.value = new Map();
};
