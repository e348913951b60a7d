import { computed, signal } from "@preact/signals";
import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";

export type Request = OperationResult<"requests.list">["items"][number];

/** Requests to the control plane that may change something, without the page's own reads. */
const all = signal<ReadonlyMap<number, Request>>(new Map());
export const areRequestsRead = signal(false);
/** Number of requests to the services in the log. */
export const totalRequests = signal(0);

export const isOfService = ({ service }: Request): boolean => service !== "emulator";

export const newestRequests = computed(() => [...all.value.values()].sort((a, b) => b.id - a.id));

/** Maximum number of requests per service that a page holds. */
export const maxHeldRequests = 1_000;
const allServices = ["router", "contracts", "storage", "emulator"] as const;

let reading = 0;
/** Requests of events since the reading began. Its responses may be older. */
let addedSince: Request[] | undefined;

/** Loads the log, without requests that only read the control plane. */
export async function readRequests(): Promise<void> {
  reading += 1;
  const currentReading = reading;
  addedSince = [];
  const lists = await Promise.all(
    allServices.map((service) =>
      callOperation("requests.list", { query: { service, limit: maxHeldRequests, reads: false } }),
    ),
  );
  if (currentReading !== reading) return;
  const read = lists
    .flatMap(({ items }) => items)
    .sort((a, b) => Number(b.replaced ?? false) - Number(a.replaced ?? false));
  // The last of several requests with the same number counts. The others belong to an earlier state.
  all.value = new Map(read.map((item) => [item.id, item]));
  const services = lists.filter(({ items }) => items.some(isOfService));
  const numbered = [...all.value.values()].filter(isOfService).length;
  totalRequests.value = services.reduce((sum, { items, total }) => sum + total - items.length, numbered);
  areRequestsRead.value = true;
  mergeRequests(addedSince ?? []);
  addedSince = undefined;
}

/** Adds requests from events, which also omit those that only read the control plane. */
export function mergeRequests(added: readonly Request[]): void {
  if (added !== addedSince) addedSince?.push(...added);
  const cleared = added.findLast(({ operation, status }) => operation === "requests.clear" && status < 400);
  const clearedId = cleared?.id ?? 0;
  const next = new Map(
    [...all.value, ...added.map((item) => [item.id, item] as const)].filter(([id]) => id > clearedId),
  );
  const isNew = (item: Request) => isOfService(item) && item.id > clearedId && !all.value.has(item.id);
  totalRequests.value = (cleared ? 0 : totalRequests.value) + added.filter(isNew).length;
  for (const id of next.keys()) {
    if (next.size <= allServices.length * maxHeldRequests) break;
    next.delete(id);
  }
  all.value = next;
}

/** Returns a request by its number, or undefined if neither the page nor the emulator's log has it. */
export async function findRequest(id: number): Promise<Request | undefined> {
  const { items } = await callOperation("requests.list", { query: { id } });
  return items.findLast(({ replaced }) => !replaced) ?? items.at(-1);
}
