import type { WallClock } from "../../../src/base/clock.ts";
import type { ReportSender, RouterClient, SendRouterRequest } from "./report.ts";

/** An operation of the router that accepts many strings of one cluster at once. */
export interface BulkOperation {
  readonly method: Parameters<SendRouterRequest>[0];
  readonly path: string;
  readonly buildBody: (texts: readonly string[], clusterId: string) => unknown;
}

/** Reports things by bulk operations, where there is anything to say; whether the router took all of it. */
export type ReportSendFunction = (
  ...said: readonly (readonly [bulk: BulkOperation, texts: readonly string[]])[]
) => Promise<boolean>;

interface BatcherOptions {
  readonly line: RouterClient;
  readonly wall: WallClock;
  /** How long reports are gathered. */
  readonly gather: GatheringLimits;
  /** One call after the other, so that they come in the same order in every run. */
  readonly inTurn: boolean;
}

/** Limits of gathering: a pause, a time by the wall clock, or this many reports. */
interface GatheringLimits {
  readonly pauseMs: number;
  readonly longestMs: number;
  readonly most: number;
}

interface GatheredReport {
  readonly parts: (readonly string[])[];
  addedAt: number;
  readonly isFull: AbortController;
  taken: Promise<boolean>;
}

/** Reports together what comes back to back, for each call to the router costs as much as sending a contract. */
export class ReportBatcher {
  readonly #options: BatcherOptions;
  /** Calls that still take more: for as long as their speakers may speak, by cluster, key and operation. */
  readonly #gathering = new WeakMap<AbortSignal, Map<string, GatheredReport>>();

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /** Reports what a cluster has to say. */
  createSender(speaker: ReportSender): ReportSendFunction {
    return async (...said) => {
      if (!this.#options.inTurn) {
        const taken = await Promise.all(said.map(([bulk, texts]) => this.#send(speaker, bulk, texts)));
        return taken.every(Boolean);
      }
      for (const [bulk, texts] of said) if (texts.length > 0 && !(await this.#call(speaker, bulk, texts))) return false;
      return true;
    };
  }

  /** Resolves with whether the router took these strings. */
  async #send(speaker: ReportSender, bulk: BulkOperation, texts: readonly string[]): Promise<boolean> {
    if (texts.length === 0) return true;
    const together = this.#joinBatch(speaker, bulk);
    together.parts.push(texts);
    together.addedAt = this.#options.wall.monotonicNow();
    if (together.parts.length >= this.#options.gather.most) together.isFull.abort("full");
    const taken = await together.taken;
    // One of them fails the others, which must not suffer.
    return taken || together.parts.length === 1 ? taken : this.#call(speaker, bulk, texts);
  }

  #joinBatch(speaker: ReportSender, bulk: BulkOperation): GatheredReport {
    const name = `${speaker.cluster_id} ${speaker.key} ${bulk.method} ${bulk.path}`;
    const gathering = this.#gathering.get(speaker.signal) ?? new Map<string, GatheredReport>();
    this.#gathering.set(speaker.signal, gathering);
    const open = gathering.get(name);
    if (open) return open;
    const taken = Promise.resolve(false);
    const fresh: GatheredReport = { parts: [], addedAt: 0, isFull: new AbortController(), taken };
    fresh.taken = this.#gather(fresh).then(() => {
      gathering.delete(name);
      return this.#call(speaker, bulk, fresh.parts.flat());
    });
    gathering.set(name, fresh);
    return fresh;
  }

  async #gather(gathered: GatheredReport): Promise<void> {
    const { wall, gather } = this.#options;
    const end = wall.monotonicNow() + gather.longestMs;
    const { signal } = gathered.isFull;
    do {
      await wall.sleep(Math.min(gather.pauseMs, end - wall.monotonicNow()), signal);
    } while (!signal.aborted && wall.monotonicNow() < Math.min(end, gathered.addedAt + gather.pauseMs));
  }

  async #call(
    speaker: ReportSender,
    { method, path, buildBody }: BulkOperation,
    texts: readonly string[],
  ): Promise<boolean> {
    return isAccepted(await this.#options.line.ask(speaker, method, path, buildBody(texts, speaker.cluster_id)));
  }
}

/** Whether the status of a response says so; without a response it is not. */
export const isAccepted = (status: number | undefined): boolean => status !== undefined && status < 300;
