import type { WallClock } from "../../../src/base/clock.ts";
import { isOneOf } from "../../../src/base/object.ts";
import { enqueue } from "../../clock/schedule.ts";
import { type Forwarder, sendRequest } from "../../http/outgoing/forward.ts";
import type { Cause, Transaction } from "../../store/port.ts";

/** The job reads the current state when it runs, so a late report is not outdated. */
const reportSubjects = {
  "report-signatories": "contract",
  "report-invitations": "contract",
  "report-member": "member",
  "report-installation": "installation",
} as const;
export type ReportKind = keyof typeof reportSubjects;

export const reportKinds = Object.keys(reportSubjects) as ReportKind[];

export const isReportKind = (kind: string): kind is ReportKind => isOneOf(reportKinds, kind);

/** The report is due now. `id` is that of the contract, member or installation (DECISIONS.md, R33, R34). */
export function scheduleReport(tx: Transaction, kind: ReportKind, id: number, due: number): void {
  // Reports of a contract run one at a time, so a token is not mapped after the contract has ended.
  enqueue(tx, { due, kind, concurrency_key: `report of ${reportSubjects[kind]} ${id}`, ref: formatReportRef(id, 0) });
}

/** Formats `<id> <failed attempts>`. */
export const formatReportRef = (id: number, failures: number): string => `${id} ${failures}`;

export function parseReportRef(ref: string): { readonly id: number; readonly failures: number } {
  const [id = 0, failures = 0] = ref.split(" ").map(Number);
  return { id, failures };
}

export interface ReportSender {
  readonly cluster_id: string;
  readonly key: string;
  readonly cause: Cause | undefined;
  /** Aborted when the emulator closes, or when the contract belongs to a replaced state. */
  readonly signal: AbortSignal;
}

/** Resolves with true if the response is a success, with false if it is a failure or missing, or with "not-found". */
export type RouterRequester = (
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
) => Promise<boolean | "not-found">;

export type RouterClient = (sender: ReportSender) => RouterRequester;

interface RouterClientOptions {
  readonly forwarder: Forwarder;
  readonly timeoutMs: number;
  readonly routerUrl: Promise<string>;
}

export const createRouterClient =
  ({ forwarder, timeoutMs, routerUrl }: RouterClientOptions): RouterClient =>
  ({ key, cause, signal }) =>
  async (method, target, content) => {
    const origin = await routerUrl;
    if (signal.aborted) return false;
    const rawHeaders = ["content-type", "application/json", "x-cluster-key", key];
    const body = Buffer.from(content === undefined ? "" : JSON.stringify(content));
    const request = { method, target, rawHeaders, body, remoteAddress: "127.0.0.1", origin, cause };
    const result = await sendRequest({ forwarder, timeoutMs }, origin, request);
    if (result.kind !== "answered") return false;
    return result.status === 404 ? "not-found" : result.status < 300;
  };

export interface BulkOperation {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly buildBody: (texts: readonly string[], clusterId: string) => unknown;
}

export type BulkReport = readonly [bulk: BulkOperation, texts: readonly string[]];

interface ReportBatch {
  readonly parts: (readonly string[])[];
  readonly isFull: AbortController;
  readonly result: Promise<boolean>;
}

/** A batch is sent after a pause without reports, which is not noticeable, or after the maximum. */
const batchPauseMs = 25;
const maxBatchMs = 250;
/** Half of the slots of the schedule stay free. */
const maxBatchReports = 32;

/**
 * Reports that follow each other quickly share a request, because a request costs as much as sending a contract. With
 * `isOrdered`, reports are sent one after another, so that their order is the same in every run.
 */
export class ReportBatcher {
  readonly #router: RouterClient;
  readonly #wall: WallClock;
  readonly #isOrdered: boolean;
  readonly #openBatches = new Map<string, ReportBatch>();

  constructor(router: RouterClient, wall: WallClock, isOrdered: boolean) {
    this.#router = router;
    this.#wall = wall;
    this.#isOrdered = isOrdered;
  }

  /** Resolves with true if the router accepted all reports. Empty reports are skipped. */
  async send(sender: ReportSender, reports: readonly BulkReport[]): Promise<boolean> {
    const nonEmpty = reports.filter(([, texts]) => texts.length > 0);
    if (!this.#isOrdered) return (await Promise.all(nonEmpty.map((each) => this.#join(sender, each)))).every(Boolean);
    for (const each of nonEmpty) if (!(await this.#sendNow(sender, each))) return false;
    return true;
  }

  async #join(sender: ReportSender, [bulk, texts]: BulkReport): Promise<boolean> {
    // The report of a replaced state must not be sent with those of the present one.
    if (sender.signal.aborted) return false;
    const name = `${sender.cluster_id} ${sender.key} ${bulk.method} ${bulk.path}`;
    const openBatch = this.#openBatches.get(name);
    openBatch?.parts.push(texts);
    const batch = openBatch ?? this.#openBatch(name, sender, [bulk, texts]);
    if (batch.parts.length >= maxBatchReports) batch.isFull.abort();
    const isAccepted = await batch.result;
    // One invalid report fails the whole batch, so the reports are sent again one by one.
    return isAccepted || batch.parts.length === 1 ? isAccepted : this.#sendNow(sender, [bulk, texts]);
  }

  #openBatch(name: string, sender: ReportSender, [bulk, texts]: BulkReport): ReportBatch {
    const parts = [texts];
    const isFull = new AbortController();
    const result = this.#waitForPause(parts, isFull.signal).then(() => {
      this.#openBatches.delete(name);
      return this.#sendNow(sender, [bulk, parts.flat()]);
    });
    const batch = { parts, isFull, result };
    this.#openBatches.set(name, batch);
    return batch;
  }

  async #waitForPause(parts: readonly unknown[], isFull: AbortSignal): Promise<void> {
    const deadline = this.#wall.monotonicNow() + maxBatchMs;
    for (let count = 0; count < parts.length; ) {
      count = parts.length;
      await this.#wall.sleep(Math.min(batchPauseMs, deadline - this.#wall.monotonicNow()), isFull);
      if (isFull.aborted || this.#wall.monotonicNow() >= deadline) return;
    }
  }

  async #sendNow(sender: ReportSender, [{ method, path, buildBody }, texts]: BulkReport): Promise<boolean> {
    return (await this.#router(sender)(method, path, buildBody(texts, sender.cluster_id))) === true;
  }
}
