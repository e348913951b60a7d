import { batch, computed, type Signal, signal } from "@preact/signals";
import { systemWallClock } from "../../base/clock.ts";
import { decodeUrlPart } from "../../base/urls.ts";
import { formatQuery } from "../format.ts";

/** The current view: `#/deliveries/7?trace=delivery:7`. */
export interface Route {
  /** First segment, such as `deliveries`; empty at the start. */
  readonly view: string;
  readonly id: string | undefined;
  readonly query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  const id = rest.join("/");
  return { view, id: id === "" ? undefined : decodeUrlPart(id), query: new URLSearchParams(query) };
}

/** Builds the address of a view, or of an object in it. */
export const buildHref = (view: string, id?: string | number): string => joinHref(view, id, {});

/** Builds the address of a part of a view. Undefined values are omitted. */
export const buildPartHref = (view: string, part: QueryPart): string => joinHref(view, undefined, part);

type QueryPart = Readonly<Record<string, string | undefined>>;

function joinHref(view: string, id: string | number | undefined, query: QueryPart): string {
  const path = id === undefined ? view : `${view}/${encodeURIComponent(String(id))}`;
  // A list that is limited to a workspace links to lists with the same limit.
  const workspace = route.value.query.get("workspace") ?? undefined;
  return `#/${path}${formatQuery({ workspace, ...query })}`;
}

const hash = signal("");
export const route = computed(() => parseRoute(hash.value));

/** Builds the address of another part of the same view. Other values stay. */
export function replacePart(part: QueryPart): string {
  const { view, id, query } = route.value;
  return joinHref(view, id, { ...Object.fromEntries(query), ...part });
}

/** Builds the address of the same view with another trace next to it, or with none. */
export const replaceTrace = (trace: string | undefined): string => replacePart({ trace });

export const navigate = (to: string): void => {
  location.hash = to;
  // The browser reports the change later, when the user may already type the next search.
  hash.value = location.hash;
};

/** Follows the address: links, back and forward. */
export function trackAddress(): void {
  const read = () => {
    hash.value = location.hash;
  };
  addEventListener("hashchange", read);
  read();
}

/** Topics of changes in the emulator, after which views reload. Clusters change only with the whole state. */
const topics = [
  "requests",
  "deliveries",
  "contracts",
  "clock",
  "faults",
  "devices",
  "emails",
  "snapshots",
  "clusters",
] as const;
export type Topic = (typeof topics)[number];

const versions = new Map<Topic, Signal<number>>(topics.map((topic) => [topic, signal(0)]));

export const getVersion = (topic: Topic): Signal<number> => versions.get(topic)!;

const changed = new Set<Topic>();
let isPlanned = false;

/** How long changes are collected, because an advance makes hundreds within milliseconds. */
const gatherMs = 60;

/** Reports a change. The views that show it reload shortly after, once for many changes. */
export function markChanged(...which: readonly Topic[]): void {
  for (const topic of which) changed.add(topic);
  if (isPlanned) return;
  isPlanned = true;
  void systemWallClock.sleep(gatherMs).then(() => {
    isPlanned = false;
    batch(() => {
      for (const topic of changed) getVersion(topic).value += 1;
    });
    changed.clear();
  });
}

export const markAllChanged = (): void => markChanged(...topics);

const referenceForms: readonly (readonly [form: RegExp, toHref: (id: string) => string])[] = [
  [/^delivery:(\d+)$/, (id) => buildHref("deliveries", id)],
  [/^attempt:(\d+)\.\d+$/, (id) => buildHref("deliveries", id)],
  [/^request:(\d+)$/, (id) => buildHref("requests", id)],
  [/^webhook:(\d+)$/, (id) => buildHref("timeline", id)],
  [/^([TH]-\d+)$/i, (id) => buildHref("contracts", id.toUpperCase())],
  [/^((?:event|timer|advance):\d+|[0-9a-f]{32})$/, replaceTrace],
  // Clients log trace IDs as a `traceparent`.
  [/^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/, replaceTrace],
  [/^([^\s@]+@[^\s@]+)$/, (id) => buildHref("routing", id)],
];

/**
 * Builds the address of a reference: `T-1`, `delivery:7`, `request:12`, `webhook:1`, a trace, an address. Returns
 * undefined if it is unknown.
 */
export function formatReferenceHref(ref: string): string | undefined {
  const text = ref.trim();
  for (const [form, toHref] of referenceForms) {
    const id = form.exec(text)?.[1];
    if (id !== undefined) return toHref(id);
  }
  return undefined;
}
