import type { Operation } from "../../../src/api/operation.ts";
import type { Ids } from "../../../src/base/ids.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { Inbox } from "../../cluster/forwarded/inbox.ts";
import { hasAccount } from "../../cluster/workspace/accounts.ts";
import type { Reader } from "../../http/listener.ts";
import type { Part } from "../../http/parts.ts";
import { leadersOwn } from "../../store/needs-leader.ts";
import type { Store } from "../../store/port.ts";
import type { Cluster } from "../../world/clusters.ts";
import { clusterRows } from "../../world/clusters.ts";
import { clusterParts } from "../cluster-parts.ts";
import { publicUrlOf } from "../public-urls.ts";
import { routerPart } from "../router-parts.ts";
import { standardSet } from "../standard-set.ts";
import { FollowedClock } from "./followed-clock.ts";
import type { Following } from "./following.ts";
import type { Premises } from "./premises.ts";

/**
 * Answers what only reads, from the copy of the state that a process keeps while another one leads. Whoever needs more
 * than the state on the way (a cluster, an upload, something written) is passed on: nothing was done then.
 */
export class Reading {
  readonly #premises: Premises;
  readonly #following: Following;
  readonly #clock: FollowedClock;
  #clusters = "";

  constructor(premises: Premises, following: Following) {
    this.#premises = premises;
    this.#following = following;
    this.#clock = new FollowedClock(premises.wall);
  }

  /** Takes what is new in the copy. */
  readonly changed = async (store: Store): Promise<void> => {
    const [time, rows] = await store.read(async (view) => [
      await view.get(clockState, "clock"),
      await view.list(clusterRows, { by: "position" }),
    ]);
    this.#clock.take(time);
    const known = JSON.stringify(rows);
    if (known === this.#clusters) return;
    const clusters: Cluster[] = [];
    for (const { external_url, position, ...rest } of rows) {
      const bound = external_url === null ? await this.#following.listenerOf(rest.id, position) : undefined;
      const reachedAt = bound?.url ?? (external_url ?? "").replace(/\/$/, "");
      const url = bound ? publicUrlOf(rest.id, reachedAt, this.#own) : reachedAt;
      clusters.push({ ...rest, url, reachedAt, external: !bound });
    }
    this.#following.readBy(await this.#readers(store, clusters));
    this.#clusters = known;
  };

  get #own() {
    const { options, routerUrl } = this.#premises;
    return { ...options, routerUrl };
  }

  async #readers(store: Store, clusters: readonly Cluster[]): Promise<ReadonlyMap<string, Reader>> {
    const { wall, settings, listeners } = this.#premises;
    const clock = this.#clock;
    const world = { store, clock, wall, settings, ids: leadersOwn<Ids>() };
    const router = routerPart({
      ...world,
      clusters,
      hasAccount,
      inSeedOrder: () => true,
      forwarder: leadersOwn(),
      issuerKeys: leadersOwn(),
      hideControlTokens: leadersOwn(),
    });
    const readers = new Map([["router", listeners.front.reader({ clock, parts: [readsOf(router)] })]]);
    for (const cluster of clusters) {
      const bound = cluster.external ? undefined : await this.#following.listenerOf(cluster.id, 0);
      if (!bound) continue;
      const own = { ...world, cluster, blobs: leadersOwn<never>(), pdfs: leadersOwn<never>(), standardSet };
      const [api] = clusterParts(own, new Inbox(0)).parts;
      readers.set(cluster.id, bound.listener.reader({ clock, parts: [readsOf(api)] }));
    }
    return readers;
  }
}

/** Of a part what is declared to change nothing, and has its answer in the state. */
const readsOf = (part: Part): Part => ({ ...part, operations: part.operations.filter(isRead) });

const isRead = ({ method, request, responses, emits = [] }: Operation): boolean =>
  method === "GET" &&
  request.body === undefined &&
  emits.length === 0 &&
  Object.values(responses).every(({ kind }) => kind === "json" || kind === "empty");
