import type { WallClock } from "../../../src/base/clock.ts";
import type { ReportSender, RouterClient, RouterRequestSender } from "./report.ts";

/** A bulk operation of the router that accepts many strings of one cluster. */
export interface BulkOperation {
  readonly method: Parameters<RouterRequestSender>[0];
  readonly path: string;
  readonly buildBody: (texts: readonly string[], clusterId: string) => unknown;
}

/** Sends non-empty reports by bulk operations. Returns whether the router accepted all of them. */
export type ReportSendHandler = (
  ...reports: readonly (readonly [bulk: BulkOperation, texts: readonly string[]])[]
) => Promise<boolean>;

interface BatcherOptions {
  readonly line: RouterClient;
  readonly wall: WallClock;
  readonly gather: GatheringLimits;
  /** True if requests are sent one after another, so that their order is the same in every run. */
  readonly inTurn: boolean;
}

interface GatheringLimits {
  readonly pauseMs: number;
  readonly maxWaitMs: number;
  readonly maxItems: number;
}

interface GatheredReport {
  readonly parts: (readonly string[])[];
  addedAt: number;
  readonly isFull: AbortController;
  accepted: Promise<boolean>;
}

/**
 * Batches reports that follow each other quickly, because each request to the router costs as much as sending a
 * contract.
 */
export class ReportBatcher {
  readonly #options: BatcherOptions;
  readonly #gathering = new WeakMap<AbortSignal, Map<string, GatheredReport>>();

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  createSender(sender: ReportSender): ReportSendHandler {
    return async (...reports) => {
      if (!this.#options.inTurn) {
        const outcomes = await Promise.all(reports.map(([bulk, texts]) => this.#send(sender, bulk, texts)));
        return outcomes.every(Boolean);
      }
      for (const [bulk, texts] of reports)
        if (texts.length > 0 && !(await this.#call(sender, bulk, texts))) return false;
      return true;
    };
  }

  async #send(sender: ReportSender, bulk: BulkOperation, texts: readonly string[]): Promise<boolean> {
    if (texts.length === 0) return true;
    const batch = this.#joinBatch(sender, bulk);
    batch.parts.push(texts);
    batch.addedAt = this.#options.wall.monotonicNow();
    if (batch.parts.length >= this.#options.gather.maxItems) batch.isFull.abort("full");
    const wasAccepted = await batch.accepted;
    // One invalid report fails the whole batch, so the reports are sent again one by one.
    return wasAccepted || batch.parts.length === 1 ? wasAccepted : this.#call(sender, bulk, texts);
  }

  #joinBatch(sender: ReportSender, bulk: BulkOperation): GatheredReport {
    const name = `${sender.cluster_id} ${sender.key} ${bulk.method} ${bulk.path}`;
    const gathering = this.#gathering.get(sender.signal) ?? new Map<string, GatheredReport>();
    this.#gathering.set(sender.signal, gathering);
    const open = gathering.get(name);
    if (open) return open;
    const accepted = Promise.resolve(false);
    const fresh: GatheredReport = { parts: [], addedAt: 0, isFull: new AbortController(), accepted };
    fresh.accepted = this.#gather(fresh).then(() => {
      gathering.delete(name);
      return this.#call(sender, bulk, fresh.parts.flat());
    });
    gathering.set(name, fresh);
    return fresh;
  }

  async #gather(gathered: GatheredReport): Promise<void> {
    const { wall, gather } = this.#options;
    const end = wall.monotonicNow() + gather.maxWaitMs;
    const { signal } = gathered.isFull;
    do {
      await wall.sleep(Math.min(gather.pauseMs, end - wall.monotonicNow()), signal);
    } while (!signal.aborted && wall.monotonicNow() < Math.min(end, gathered.addedAt + gather.pauseMs));
  }

  async #call(
    sender: ReportSender,
    { method, path, buildBody }: BulkOperation,
    texts: readonly string[],
  ): Promise<boolean> {
    return isSuccessStatus(await this.#options.line.ask(sender, method, path, buildBody(texts, sender.cluster_id)));
  }
}

/** Reports whether the response is a success. A missing response is a failure. */
export const isSuccessStatus = (status: number | undefined): boolean => status !== undefined && status < 300;
