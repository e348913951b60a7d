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

interface ReportSender {
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
