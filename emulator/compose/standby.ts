import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { describeProcess } from "../control/lifecycle.ts";
import type { ListenerPart } from "../http/handler.ts";
import type { Listener } from "../http/listener.ts";
import { reply } from "../http/reply.ts";
import { noSniffHeader } from "../http/respond.ts";
import type { BoundListener, Listeners } from "./listeners.ts";
import { createProbePart } from "./service-parts.ts";

/** Addresses of the leader's listeners, which the leader publishes to the standbys through the database. */
const LeaderAddress = z.object({
  router_url: z.string(),
  /** A secret of the term, by which the listeners recognize forwarded requests. */
  key: z.string(),
  /** Emulated clusters. `position` orders their listeners by port. */
  clusters: z.array(z.object({ id: z.string(), url: z.string(), position: z.number() })),
});
type LeaderAddress = z.infer<typeof LeaderAddress>;

interface StandbyOptions {
  readonly readiness: Readiness;
  readonly process: NonNullable<Liveness["process"]>;
  readonly listeners: Listeners;
  readonly log: (line: string) => void;
  readonly onLeadership: (leader: string, token: string) => Promise<void>;
  /** Ends this process when a holder of the token requests it. */
  readonly stop: () => void;
}

/** One of several processes with one store, which forwards all but liveness requests while it does not lead. */
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
    this.#forward("router", this.#options.listeners.router);
    for (const [id, binding] of this.#clusters)
      void binding.then(({ listener }) => this.#forward(id, listener)).catch(() => {});
  }

  get hasSeenLeader(): boolean {
    return this.#hasSeenLeader;
  }

  /** Updates the known leader. `address` is null if there is no leader, or if its address is not known yet. */
  readonly updateLeader = (address: unknown, token: string | null): void => {
    this.#leader = LeaderAddress.safeParse(address).data;
    this.#token = token ?? undefined;
    if (!this.#leader) return;
    this.#hasSeenLeader = true;
    void this.#bindAll(this.#leader, token ?? "").catch((error) => this.#options.log(String(error)));
  };

  async #bindAll({ router_url, clusters }: LeaderAddress, token: string): Promise<void> {
    for (const { id, position } of clusters) await this.getListener(id, position);
    const isNew = !this.#hasNotified && !this.#isLeading;
    this.#hasNotified = true;
    if (!isNew) return;
    await this.#options.onLeadership(router_url, token).catch((error) => {
      this.#hasNotified = false;
      throw error;
    });
  }

  /** Returns the listener of a cluster in this process. It forwards until this process leads. */
  getListener(id: string, position: number): Promise<BoundListener> {
    const existing = this.#clusters.get(id);
    if (existing) return existing;
    const binding = this.#options.listeners.bindCluster(id, position);
    this.#clusters.set(id, binding);
    binding.then(
      ({ listener }) => this.#forward(id, listener),
      () => this.#clusters.delete(id),
    );
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

  /** Starts forwarding the requests of a listener unless this process leads. */
  #forward(name: string, listener: Listener): void {
    if (this.#isLeading) return;
    const isRouter = name === "router";
    listener.startStandby({
      parts: isRouter ? [this.#createHealthPart()] : [],
      handleLocally: (request, response) => isRouter && this.#handleStop(request, response),
      findLeader: () => {
        if (!this.#leader) return undefined;
        const { router_url, key, clusters } = this.#leader;
        const url = isRouter ? router_url : clusters.find(({ id }) => id === name)?.url;
        return url === undefined ? undefined : { url, key };
      },
    });
  }

  /** A liveness request concerns this process only. */
  #createHealthPart(): ListenerPart {
    const { readiness, process } = this.#options;
    const getReadiness = (): Readiness => ({ ...readiness, role: "standby", leader: this.#leader?.router_url ?? null });
    return createProbePart({
      "emulator.ready": () => reply(this.#leader ? 200 : 503, getReadiness()),
      "emulator.live": (_, { request }) => describeProcess(getReadiness(), process, request),
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
