import { isOneOf } from "../../../src/base/object.ts";
import { enqueue } from "../../clock/schedule.ts";
import type { Forwarder } from "../../http/outgoing/forward.ts";
import { sendRequest } from "../../http/outgoing/webhook-sender.ts";
import type { Cause } from "../../store/cause.ts";
import type { Transaction } from "../../store/port.ts";

/**
 * Kinds of a cluster's reports to the router. The job reads the current state when it runs, so a late report is not
 * outdated.
 */
export const reportKinds = [
  "report-signatories",
  "report-invitations",
  "report-member",
  "report-installation",
] as const;
export type ReportKind = (typeof reportKinds)[number];

export const isReportKind = (kind: string): kind is ReportKind => isOneOf(reportKinds, kind);

/**
 * Schedules a report about the changes of this transaction. The job is due immediately and committed with the
 * transaction (DECISIONS.md, R33, R34). `id` is the id of the contract, the member or the installation.
 */
export function scheduleReport(tx: Transaction, kind: ReportKind, id: number, due: number): void {
  // Reports of a contract run one at a time, so a token is not mapped after the contract has ended.
  enqueue(tx, { due, kind, concurrency_key: `report of ${reportSubjects[kind]} ${id}`, ref: formatReportRef(id, 0) });
}

const reportSubjects: Readonly<Record<ReportKind, string>> = {
  "report-signatories": "contract",
  "report-invitations": "contract",
  "report-member": "member",
  "report-installation": "installation",
};

/** Formats `<id> <failed attempts>`. */
export const formatReportRef = (id: string | number, failures: number): string => `${id} ${failures}`;

export function parseReportRef(ref: string): { readonly id: string; readonly failures: number } {
  const [id = "", failures = "0"] = ref.split(" ");
  return { id, failures: Number(failures) };
}

export interface ReportSender {
  readonly cluster_id: string;
  readonly key: string;
  readonly cause: Cause | undefined;
  /** Aborted when the emulator closes, or when the contract belongs to a replaced state. */
  readonly signal: AbortSignal;
}

/** A client of the router over HTTP, with the cluster's key. */
export interface RouterClient {
  ask(sender: ReportSender, ...call: Parameters<RouterRequestSender>): ReturnType<RouterRequestSender>;
}

/** Sends one request to the router. Resolves with the status of the response, or undefined after a timeout. */
export type RouterRequestSender = (
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
) => Promise<number | undefined>;

interface LineOptions {
  readonly forwarder: Forwarder;
  readonly timeoutMs: number;
  readonly routerUrl: Promise<string>;
}

export const createRouterClient = ({ forwarder, timeoutMs, routerUrl }: LineOptions): RouterClient => ({
  async ask({ key, cause, signal }, method, target, content) {
    const origin = await routerUrl;
    if (signal.aborted) return undefined;
    const rawHeaders = ["content-type", "application/json", "x-cluster-key", key];
    const body = Buffer.from(content === undefined ? "" : JSON.stringify(content));
    const request = { method, target, rawHeaders, body, remoteAddress: "127.0.0.1", origin, cause };
    const result = await sendRequest({ forwarder, timeoutMs }, origin, request);
    return result.kind === "answered" ? result.status : undefined;
  },
});
