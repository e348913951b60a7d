import { isOneOf } from "../../../src/base/one-of.ts";
import { enqueue } from "../../clock/schedule.ts";
import type { Transaction } from "../../store/port.ts";

/** What a cluster tells the router; the job reads what is true when it runs, so that a late one tells nothing old. */
export const reportKinds = [
  "report-signatories",
  "report-invitations",
  "report-member",
  "report-installation",
] as const;
export type ReportKind = (typeof reportKinds)[number];

export const isReport = (kind: string): kind is ReportKind => isOneOf(reportKinds, kind);

/**
 * Lets a cluster report to the router what this transaction changes: at once, by a job that is committed with it
 * (DECISIONS.md, R33, R34). `id`: of the contract, the member or the installation.
 */
export function report(tx: Transaction, kind: ReportKind, id: number, due: number): void {
  // Of one contract one at a time, so that no token is mapped by what was true before it ended.
  enqueue(tx, { due, kind, concurrency_key: `report of ${subjects[kind]} ${id}`, ref: refOf(id, 0) });
}

const subjects: Readonly<Record<ReportKind, string>> = {
  "report-signatories": "contract",
  "report-invitations": "contract",
  "report-member": "member",
  "report-installation": "installation",
};

/** `<id> <attempts that failed>` */
export const refOf = (id: string | number, failures: number): string => `${id} ${failures}`;

export function partsOf(ref: string): { readonly id: string; readonly failures: number } {
  const [id = "", failures = "0"] = ref.split(" ");
  return { id, failures: Number(failures) };
}
