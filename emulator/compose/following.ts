import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { live, type Readiness, ready } from "../../src/api/emulator/lifecycle.ts";
import type { Wall } from "../../src/base/clock.ts";
import { fieldsOf } from "../../src/base/object.ts";
import type { Listener } from "../http/listener.ts";
import { passOn, wasPassed } from "../http/pass-on.ts";
import { noSniffing } from "../http/sending/send.ts";
import type { Cluster, ClusterRow } from "../world/clusters.ts";
import type { BoundListener } from "./listeners.ts";
import { reachable } from "./reachable.ts";

/** Where the listeners of the one that leads are, as it tells the others. */
export interface LeaderAddress {
  readonly router_url: string;
  readonly clusters: readonly {
    readonly id: string;
    readonly url: string;
    /** In the order of the ports. */
    readonly position: number;
    readonly external: boolean;
  }[];
}

/** What a process answers itself, whoever leads. */
const ofItself: ReadonlySet<string> = new Set([ready.path, live.path]);

/** Where the listeners of a process are, for others. `rows`: in the order of `clusters`. */
export const addressFor = (
  router_url: string,
  host: string | undefined,
  rows: readonly ClusterRow[],
  clusters: readonly Cluster[],
): LeaderAddress => ({
  router_url,
  clusters: rows.map(({ id, position }, i) => {
    const { reachedAt, external } = clusters[i]!;
    return { id, url: external ? reachedAt : reachable(reachedAt, host), position, external };
  }),
});

interface Options {
  readonly wall: Wall;
  readonly instanceId: string;
  readonly front: Listener;
  /** Binds the listener of a cluster, as this process would have it if it led. */
  readonly bind: (id: string, position: number) => Promise<BoundListener>;
  /** Told what goes wrong. */
  readonly log: (line: string) => void;
  /** Told once that it follows, with the token that all processes have. */
  readonly began: (leader: string, token: string) => void;
  /** Ends this process, as whoever holds the token may wish. */
  readonly stop: () => void;
}

/** A process that does not lead: its listeners pass everything on to the one that does. */
export class Following {
  readonly #options: Options;
  readonly #own = new Map<string, BoundListener>();
  #leader: LeaderAddress | undefined;
  #isTold = false;
  #token: string | undefined;
  #binding: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
    options.front.passTo(this.#passing(() => this.#leader?.router_url));
  }

  /** Takes what is known of the one that leads; null: nobody does, or it is not there yet. */
  readonly seen = (address: unknown, token: string | null): void => {
    const { router_url, clusters } = fieldsOf(address);
    this.#leader = typeof router_url === "string" && Array.isArray(clusters) ? (address as LeaderAddress) : undefined;
    this.#token = token ?? undefined;
    if (!this.#leader) return;
    const { router_url: leader, clusters: known } = this.#leader;
    this.#binding = this.#binding
      .then(() => this.#bindAll(known))
      .then(() => {
        if (!this.#isTold) this.#options.began(leader, token ?? "");
        this.#isTold = true;
      })
      .catch((error) => this.#options.log(String(error)));
  };

  /** The listener that a cluster has here already. */
  async ownOf(id: string): Promise<BoundListener | undefined> {
    await this.#binding;
    return this.#own.get(id);
  }

  /** From now on this process leads: what waits, and what comes, is answered here. */
  lead(address: LeaderAddress): void {
    this.#leader = address;
    this.#options.front.passTo(undefined);
    for (const { listener } of this.#own.values()) listener.passTo(undefined);
  }

  async #bindAll(clusters: LeaderAddress["clusters"]): Promise<void> {
    for (const { id, position, external } of clusters) {
      if (external || this.#own.has(id)) continue;
      const bound = await this.#options.bind(id, position);
      bound.listener.passTo(this.#passing(() => this.#leader?.clusters.find((one) => one.id === id)?.url));
      this.#own.set(id, bound);
    }
  }

  /** Whether a request that came to this very process brings the token; one without it the leader refuses. */
  #isAllowed(request: IncomingMessage): boolean {
    const given = Buffer.from(request.headers.authorization ?? "");
    const wanted = Buffer.from(`Bearer ${this.#token}`);
    const isHeld = given.length === wanted.length && timingSafeEqual(given, wanted);
    return this.#token !== undefined && isHeld && !wasPassed(request);
  }

  #passing(leader: () => string | undefined): RequestListener {
    const { wall, instanceId } = this.#options;
    return (request, response) => {
      // Who asks whether this very process is there, means it.
      if (request.method === "GET" && ofItself.has(request.url ?? "") && !wasPassed(request)) {
        const at = this.#leader?.router_url;
        const readiness: Readiness = { instance_id: instanceId, role: "follower", leader: at ?? null };
        const body = JSON.stringify(readiness);
        const head = [
          ...noSniffing,
          "content-type",
          "application/json",
          "content-length",
          String(Buffer.byteLength(body)),
        ];
        response.writeHead(at === undefined && request.url !== live.path ? 503 : 200, head).end(body);
        return;
      }
      if (request.method === "POST" && request.url === "/_emulator/stop" && this.#isAllowed(request)) {
        response.writeHead(202, [...noSniffing, "content-length", "0", "connection", "close"]).end();
        this.#options.stop();
        return;
      }
      void passOn(request, response, { wall, leader });
    };
  }
}
