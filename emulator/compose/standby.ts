import type { IncomingMessage, ServerResponse } from "node:http";
import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import { registry } from "../../src/api/registry.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { toFields } from "../../src/base/object.ts";
import { describeProcess } from "../control/lifecycle.ts";
import type { Cluster, ClusterRow } from "../domain/clusters.ts";
import { createPart, type ListenerPart, type ReceivedRequest } from "../http/handler.ts";
import type { StandbyBehavior } from "../http/listener.ts";
import { reply } from "../http/reply.ts";
import { noSniffHeader } from "../http/respond.ts";
import { type BoundListener, type Listeners, toReachableUrl } from "./listeners.ts";

/** Addresses of the leader's listeners, which the leader publishes to the standbys through the database. */
export interface LeaderAddress {
  readonly router_url: string;
  /** A secret of the term, by which the listeners recognize forwarded requests. */
  readonly key: string;
  readonly clusters: readonly {
    readonly id: string;
    readonly url: string;
    /** Listeners in the order of the ports. */
    readonly position: number;
  }[];
}

/** Returns the address of a leader. Standbys have no listeners for external clusters. */
export const toLeaderAddress = (
  { router_url, key }: Pick<LeaderAddress, "router_url" | "key">,
  host: string | undefined,
  rows: readonly ClusterRow[],
  clusters: readonly Cluster[],
): LeaderAddress => ({
  router_url,
  key,
  clusters: clusters
    .filter(({ external }) => !external)
    .map(({ id, internalUrl }) => {
      const { position } = rows.find((row) => row.id === id)!;
      return { id, url: toReachableUrl(internalUrl, host), position };
    }),
});

interface StandbyOptions {
  readonly readiness: Readiness;
  readonly process: NonNullable<Liveness["process"]>;
  readonly listeners: Listeners;
  readonly log: (line: string) => void;
  readonly onLeadership: (leader: string, token: string) => void;
  /** Ends this process when a holder of the token requests it. */
  readonly stop: () => void;
}

/**
 * One of several processes that share a store. While it does not lead, its listeners forward everything to the leader.
 * It only responds to liveness requests itself, and has no state.
 */
export class HotStandby {
  readonly #options: StandbyOptions;
  readonly #clusters = new Map<string, Promise<BoundListener>>();
  #leader: LeaderAddress | undefined;
  #isLeading = false;
  #hasNotified = false;
  #hasSeenLeader = false;
  #token: string | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.standBy();
  }

  standBy(): void {
    this.#leader = undefined;
    this.#isLeading = false;
    this.#hasNotified = false;
    this.#options.listeners.router.startStandby(this.#createStandby("router"));
    for (const [id, binding] of this.#clusters) this.#startForwarding(id, binding);
  }

  get hasSeenLeader(): boolean {
    return this.#hasSeenLeader;
  }

  /** Updates the known leader. `address` is null if there is no leader, or if its address is not known yet. */
  readonly updateLeader = (address: unknown, token: string | null): void => {
    const { router_url, key, clusters } = toFields(address);
    const isKnown = typeof router_url === "string" && typeof key === "string" && Array.isArray(clusters);
    this.#leader = isKnown ? (address as LeaderAddress) : undefined;
    this.#token = token ?? undefined;
    if (!this.#leader) return;
    this.#hasSeenLeader = true;
    const { router_url: leader, clusters: leaderClusters } = this.#leader;
    void this.#bindAll(leaderClusters)
      .then(() => {
        if (!this.#hasNotified && !this.#isLeading) this.#options.onLeadership(leader, token ?? "");
        this.#hasNotified = true;
      })
      .catch((error) => this.#options.log(String(error)));
  };

  /** Returns the listener of a cluster in this process. It forwards until this process leads. */
  getListener(id: string, position: number): Promise<BoundListener> {
    const existing = this.#clusters.get(id);
    if (existing) return existing;
    const binding = this.#options.listeners.bindCluster(id, position);
    this.#clusters.set(id, binding);
    binding.catch(() => this.#clusters.delete(id));
    this.#startForwarding(id, binding);
    return binding;
  }

  /** Called when this process leads. It then handles waiting and new requests. */
  async lead(address: LeaderAddress, token: string): Promise<void> {
    this.#isLeading = true;
    this.#leader = address;
    this.#token = token;
    this.#options.listeners.router.startLeading(address.key);
    for (const { listener } of await Promise.all(this.#clusters.values())) listener.startLeading(address.key);
  }

  #startForwarding(id: string, binding: Promise<BoundListener>): void {
    const forward = ({ listener }: BoundListener) => {
      if (!this.#isLeading) listener.startStandby(this.#createStandby(id));
    };
    void binding.then(forward, () => {});
  }

  async #bindAll(clusters: LeaderAddress["clusters"]): Promise<void> {
    for (const { id, position } of clusters) await this.getListener(id, position);
  }

  #createStandby(name: string): StandbyBehavior {
    if (name !== "router") {
      return {
        parts: [],
        findLeader: () => this.#findLeaderListener(({ clusters }) => clusters.find(({ id }) => id === name)),
      };
    }
    return {
      parts: [this.#createHealthPart()],
      handleLocally: (request, response) => this.#handleStop(request, response),
      findLeader: () => this.#findLeaderListener(({ router_url: url }) => ({ url })),
    };
  }

  #findLeaderListener(find: (leader: LeaderAddress) => { readonly url: string } | undefined) {
    const url = this.#leader && find(this.#leader)?.url;
    return this.#leader && url !== undefined ? { url, key: this.#leader.key } : undefined;
  }

  /** A liveness request concerns this process only. */
  #createHealthPart(): ListenerPart {
    const { readiness, process } = this.#options;
    const getReadiness = (): Readiness => ({
      ...readiness,
      role: "standby",
      leader: this.#leader?.router_url ?? null,
    });
    return createPart({
      operations: registry.filter(({ id }) => id === "emulator.ready" || id === "emulator.live"),
      handlers: {
        "emulator.ready": () => reply(this.#leader ? 200 : 503, getReadiness()),
        "emulator.live": (_: unknown, { request }: { readonly request: ReceivedRequest }) =>
          describeProcess(getReadiness(), process, request),
      },
      context: {},
    });
  }

  #handleStop(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== "POST" || request.url !== "/_emulator/stop" || this.#token === undefined) return false;
    if (!isEqualInConstantTime(request.headers.authorization ?? "", `Bearer ${this.#token}`)) return false;
    response.writeHead(202, [...noSniffHeader, "content-length", "0", "connection", "close"]).end();
    this.#options.stop();
    return true;
  }
}
