import type { IncomingMessage, ServerResponse } from "node:http";
import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import { registry } from "../../src/api/registry.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { toFields } from "../../src/base/object.ts";
import { describeProcess } from "../control/lifecycle.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import type { Standby } from "../http/listener.ts";
import { createPart, type Part } from "../http/parts.ts";
import { reply } from "../http/reply.ts";
import { noSniffHeader } from "../http/respond.ts";
import type { Cluster, ClusterRow } from "../world/clusters.ts";
import { type BoundListener, type Listeners, toReachableUrl } from "./listeners.ts";

/** Addresses of the leader's listeners, as the leader publishes them to the standbys through the database. */
export interface LeaderAddress {
  readonly router_url: string;
  /** A secret of its term, by which its listeners know what standbys forward. */
  readonly key: string;
  readonly clusters: readonly {
    readonly id: string;
    readonly url: string;
    /** Listeners in the order of the ports. */
    readonly position: number;
    readonly external: boolean;
  }[];
}

/** The address of a leader. `rows`: in the order of `clusters`. */
export const leaderAddress = (
  { router_url, key }: Pick<LeaderAddress, "router_url" | "key">,
  host: string | undefined,
  rows: readonly ClusterRow[],
  clusters: readonly Cluster[],
): LeaderAddress => ({
  router_url,
  key,
  clusters: rows.map(({ id, position }, i) => {
    const { reachedAt, external } = clusters[i]!;
    return { id, url: external ? reachedAt : toReachableUrl(reachedAt, host), position, external };
  }),
});

interface Options {
  /** Description of this process, whether it leads or not. */
  readonly aboutItself: Readiness;
  readonly process: NonNullable<Liveness["process"]>;
  readonly listeners: Listeners;
  /** Called with failures. */
  readonly log: (line: string) => void;
  /** Called each time that it learns of a new leader, with the token that all processes have. */
  readonly began: (leader: string, token: string) => void;
  /** Ends this process, as any holder of the token may request. */
  readonly stop: () => void;
}

/**
 * A process of several that share a store: while it does not lead, its listeners forward everything to the leader. It
 * answers only whether it is alive, and holds nothing of the state.
 */
export class HotStandby {
  readonly #options: Options;
  readonly #clusters = new Map<string, Promise<BoundListener>>();
  #leader: LeaderAddress | undefined;
  #isLeading = false;
  #isTold = false;
  #hasSeen = false;
  #token: string | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.standBy();
  }

  /** From now on another process leads, or will. */
  standBy(): void {
    this.#leader = undefined;
    this.#isLeading = false;
    this.#isTold = false;
    this.#options.listeners.front.standBy(this.#standbyOf("router"));
    for (const [id, bound] of this.#clusters) this.#forwardOf(id, bound);
  }

  /** Whether it has ever known a leader. */
  get hasSeen(): boolean {
    return this.#hasSeen;
  }

  /** Accepts what is known of the leader; null: there is no leader, or its address is not known yet. */
  readonly seen = (address: unknown, token: string | null): void => {
    const { router_url, key, clusters } = toFields(address);
    const isKnown = typeof router_url === "string" && typeof key === "string" && Array.isArray(clusters);
    this.#leader = isKnown ? (address as LeaderAddress) : undefined;
    this.#token = token ?? undefined;
    if (!this.#leader) return;
    this.#hasSeen = true;
    const { router_url: leader, clusters: known } = this.#leader;
    void this.#bindAll(known)
      .then(() => {
        if (!this.#isTold && !this.#isLeading) this.#options.began(leader, token ?? "");
        this.#isTold = true;
      })
      .catch((error) => this.#options.log(String(error)));
  };

  /** The listener of a cluster in this process; until this process leads, it forwards. */
  listenerOf(id: string, position: number): Promise<BoundListener> {
    const known = this.#clusters.get(id);
    if (known) return known;
    const binding = this.#options.listeners.bindCluster(id, position);
    this.#clusters.set(id, binding);
    binding.catch(() => this.#clusters.delete(id));
    this.#forwardOf(id, binding);
    return binding;
  }

  /** From now on this process leads: waiting and new requests are answered here. */
  async lead(address: LeaderAddress, token: string): Promise<void> {
    this.#isLeading = true;
    this.#leader = address;
    this.#token = token;
    this.#options.listeners.front.lead(address.key);
    for (const { listener } of await Promise.all(this.#clusters.values())) listener.lead(address.key);
  }

  #forwardOf(id: string, binding: Promise<BoundListener>): void {
    const forward = ({ listener }: BoundListener) => {
      if (!this.#isLeading) listener.standBy(this.#standbyOf(id));
    };
    void binding.then(forward, () => {});
  }

  async #bindAll(clusters: LeaderAddress["clusters"]): Promise<void> {
    for (const { id, position, external } of clusters) if (!external) await this.listenerOf(id, position);
  }

  #standbyOf(name: string): Standby {
    if (name !== "router") {
      return {
        parts: [],
        leader: () => this.#listenerOfLeader(({ clusters }) => clusters.find(({ id }) => id === name)),
      };
    }
    return {
      parts: [this.#createHealthPart()],
      answers: (request, response) => this.#handleStop(request, response),
      leader: () => this.#listenerOfLeader(({ router_url: url }) => ({ url })),
    };
  }

  #listenerOfLeader(find: (leader: LeaderAddress) => { readonly url: string } | undefined) {
    const url = this.#leader && find(this.#leader)?.url;
    return this.#leader && url !== undefined ? { url, key: this.#leader.key } : undefined;
  }

  /** A liveness request means this very process. */
  #createHealthPart(): Part {
    const { aboutItself, process } = this.#options;
    const readiness = (): Readiness => ({ ...aboutItself, role: "standby", leader: this.#leader?.router_url ?? null });
    return createPart({
      operations: registry.filter(({ id }) => id === "emulator.ready" || id === "emulator.live"),
      handlers: {
        "emulator.ready": () => reply(this.#leader ? 200 : 503, readiness()),
        "emulator.live": (_: unknown, { request }: { readonly request: ReceivedRequest }) =>
          describeProcess(readiness(), process, request),
      },
      world: {},
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
