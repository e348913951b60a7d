import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { live, type Readiness, ready } from "../../../src/api/emulator/lifecycle.ts";
import type { Wall } from "../../../src/base/clock.ts";
import { sameSecret } from "../../../src/base/hmac.ts";
import { fieldsOf } from "../../../src/base/object.ts";
import type { Listener, Reader } from "../../http/listener.ts";
import { answerJson } from "../../http/pass-on/answer-json.ts";
import { answerMessage, sendMessage } from "../../http/pass-on/between.ts";
import { refuseMoved } from "../../http/pass-on/not-leading.ts";
import { passOn, wasPassed } from "../../http/pass-on/pass-on.ts";
import type { LoggedRequest, RequestLog } from "../../http/request-log/request-log.ts";
import { noSniffing } from "../../http/sending/send.ts";
import type { FollowedState } from "../../store/postgres/followed-state.ts";
import type { Settled } from "../../store/postgres/postgres-log.ts";
import type { Cluster, ClusterRow } from "../../world/clusters.ts";
import type { BoundListener } from "../listeners.ts";
import { reachable } from "../reachable.ts";
import { Answered } from "./answered.ts";

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
  /** Whether others may answer what they can of themselves. */
  readonly reads?: boolean;
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

/** What the one that leads tells those that follow, and hears from them. */
export interface Lead {
  readonly address: LeaderAddress;
  /** That all processes have. */
  readonly token: string;
  /** What they may count on in its log. */
  readonly settled: () => Settled;
}

interface Options {
  readonly wall: Wall;
  /** What it says of itself, whoever leads. */
  readonly aboutItself: Readiness;
  readonly requestLog: RequestLog;
  /** Of the router's listener here, for others. */
  readonly ownUrl: string;
  readonly front: Listener;
  /** Binds the listener of a cluster, as this process would have it if it led. */
  readonly bind: (id: string, position: number) => Promise<BoundListener>;
  /** Told what goes wrong. */
  readonly log: (line: string) => void;
  /** Told each time that it has begun to follow, with the token that all processes have. */
  readonly began: (leader: string, token: string) => void;
  /** Ends this process, as whoever holds the token may wish. */
  readonly stop: () => void;
}

/** A process of several: while it does not lead, its listeners pass everything on to the one that does. */
export class Following {
  readonly #options: Options;
  readonly #own = new Map<string, Promise<BoundListener>>();
  #leader: LeaderAddress | undefined;
  #isLeading = false;
  #isTold = false;
  #hasSeen = false;
  #token: string | undefined;
  #settled: (() => Settled) | undefined;
  #followed: FollowedState | undefined;
  #readers: ReadonlyMap<string, Reader> | undefined;
  readonly #answered: Answered;

  constructor(options: Options) {
    this.#options = options;
    const { wall, requestLog, front } = options;
    this.#answered = new Answered(wall, async (requests) => (await this.#send({ requests })) !== undefined);
    requestLog.watch((request) => {
      if (!this.#isLeading) this.#answered.add(request);
    });
    front.answerBetween((request, response) => this.#answerBetween(request, response));
    this.follow();
  }

  /** Takes the copy of the state that is kept while another process leads. */
  readonly followed = (state: FollowedState): void => {
    this.#followed = state;
  };

  /** Answers from that copy what these readers can. */
  readBy(readers: ReadonlyMap<string, Reader>): void {
    this.#readers = readers;
  }

  /** What the one that leads says that others may count on; undefined: it does not answer. */
  readonly settled = async (): Promise<Settled | undefined> => {
    const { settled } = fieldsOf(await this.#send({}));
    return settled as Settled | undefined;
  };

  /** From now on another process leads, or will: what comes is passed on to it. */
  follow(): void {
    this.#leader = undefined;
    this.#settled = undefined;
    this.#isLeading = false;
    this.#isTold = false;
    this.#options.front.passTo(this.#passing("router", () => this.#leader?.router_url));
    for (const [id, bound] of this.#own) this.#pass(id, bound);
  }

  /** Whether it has ever been told of the one that leads. */
  get hasSeen(): boolean {
    return this.#hasSeen;
  }

  /** Takes what is known of the one that leads; null: nobody does, or it is not there yet. */
  readonly seen = (address: unknown, token: string | null): void => {
    const { router_url, clusters } = fieldsOf(address);
    this.#leader = typeof router_url === "string" && Array.isArray(clusters) ? (address as LeaderAddress) : undefined;
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

  /** The listener that a cluster has here, whoever leads; until this process does, it passes everything on. */
  listenerOf(id: string, position: number): Promise<BoundListener> {
    const known = this.#own.get(id);
    if (known) return known;
    const binding = this.#options.bind(id, position);
    this.#own.set(id, binding);
    binding.catch(() => this.#own.delete(id));
    this.#pass(id, binding);
    return binding;
  }

  /** From now on this process leads: what waits, and what comes, is answered here. */
  async lead({ address, token, settled }: Lead): Promise<void> {
    this.#isLeading = true;
    this.#leader = address;
    this.#token = token;
    this.#settled = settled;
    this.#followed = undefined;
    this.#answered.clear();
    this.#options.front.passTo(undefined);
    for (const { listener } of await Promise.all(this.#own.values())) listener.passTo(undefined);
  }

  #pass(id: string, binding: Promise<BoundListener>): void {
    const passing = this.#passing(id, () => this.#leader?.clusters.find((one) => one.id === id)?.url);
    void binding.then(
      ({ listener }) => {
        if (!this.#isLeading) listener.passTo(passing);
      },
      () => {},
    );
  }

  async #bindAll(clusters: LeaderAddress["clusters"]): Promise<void> {
    for (const { id, position, external } of clusters) if (!external) await this.listenerOf(id, position);
  }

  async #send(message: object): Promise<unknown> {
    const leader = this.#leader?.router_url;
    if (leader === undefined || this.#token === undefined || this.#isLeading) return undefined;
    return sendMessage(leader, this.#token, { ...message, served_by: this.#options.ownUrl });
  }

  #answerBetween(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#settled) refuseMoved(request, response, "router");
    else if (!this.#isAllowed(request)) response.writeHead(401, [...noSniffing, "content-length", "0"]).end();
    else void this.#hear(request, response);
  }

  #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return answerMessage(request, response, (message) => {
      const { requests = [], served_by } = fieldsOf(message);
      const { requestLog } = this.#options;
      for (const each of requests as LoggedRequest[]) {
        const rawHeaders = requestLog.shared(each.rawHeaders);
        requestLog.add({ ...each, rawHeaders, id: requestLog.nextNumber(), servedBy: String(served_by) });
      }
      return { settled: this.#settled?.() };
    });
  }

  /** Whether a request that came to this very process brings the token; one without it the leader refuses. */
  #isAllowed(request: IncomingMessage): boolean {
    if (this.#token === undefined || wasPassed(request)) return false;
    return sameSecret(request.headers.authorization ?? "", `Bearer ${this.#token}`);
  }

  #passing(name: string, leader: () => string | undefined): RequestListener {
    const { wall, aboutItself } = this.#options;
    return (request, response) => {
      // Who asks whether this very process is there, means it.
      if (request.method === "GET" && ofItself.has(request.url ?? "") && !wasPassed(request)) {
        const at = this.#leader?.router_url;
        const readiness: Readiness = { ...aboutItself, role: "follower", leader: at ?? null };
        answerJson(response, at === undefined && request.url !== live.path ? 503 : 200, readiness);
        return;
      }
      if (request.method === "POST" && request.url === "/_emulator/stop" && this.#isAllowed(request)) {
        response.writeHead(202, [...noSniffing, "content-length", "0", "connection", "close"]).end();
        this.#options.stop();
        return;
      }
      const pass = () => void passOn(request, response, { wall, name, leader });
      const reader = this.#readers?.get(name);
      if (name === "router" && request.url?.startsWith("/_emulator/")) void this.#answered.told().then(pass);
      else if (request.method !== "GET" || wasPassed(request) || !reader?.serves(request)) pass();
      else void this.#read(reader, request, response, pass);
    };
  }

  /** Answers from the copy, once that has all that anybody has been told of until now. */
  async #read(reader: Reader, request: IncomingMessage, response: ServerResponse, pass: () => void): Promise<void> {
    if (await this.#followed?.fresh()) await reader.take(request, response, pass);
    else pass();
  }
}
