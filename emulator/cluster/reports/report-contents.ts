import type { Clock, WallClock } from "../../../src/base/clock.ts";
import { hashEmail } from "../../../src/base/email-address.ts";
import type { JobCommit, JobHandlers } from "../../clock/job-handler.ts";
import { dequeue, enqueue, getCause, type ScheduledEntry, schedule } from "../../clock/schedule.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import type { IndexQuery, Store, Transaction, View } from "../../store/port.ts";
import { contracts } from "../contracts/rows.ts";
import { appInstallations } from "../installations.ts";
import { invitations } from "../invitations/invite.ts";
import {
  type BulkOperation,
  type BulkReport,
  formatReportRef,
  parseReportRef,
  ReportBatcher,
  type ReportKind,
  type RouterClient,
  type RouterRequester,
  reportKinds,
} from "./report.ts";

interface ReportRouter {
  readonly request: RouterRequester;
  sendBulk(...reports: readonly BulkReport[]): Promise<boolean>;
}

interface Report {
  readonly cluster_id: string;
  /** Resolves with true if the router accepted everything. */
  readonly send: (router: ReportRouter) => Promise<boolean | "not-found">;
}

const addSignatories: BulkOperation = {
  method: "POST",
  path: "/router/v1/contract_signatories/",
  buildBody: (hashes, cluster) => hashes.map((signatory_hash) => ({ signatory_hash, cluster })),
};

const createTokenOperation = (method: "POST" | "DELETE", kind: "creator" | "counter_party"): BulkOperation => ({
  method,
  path: `/router/v1/cluster_tokens/bulk/${kind}`,
  buildBody: (tokens, cluster_id) => ({ tokens, cluster_id }),
});
const mapTokens = createTokenOperation("POST", "counter_party");
const endTokens = createTokenOperation("DELETE", "counter_party");
const mapCreatorTokens = createTokenOperation("POST", "creator");
const endCreatorTokens = createTokenOperation("DELETE", "creator");

/** Readers of each kind of report. A report is undefined if there is nothing to report. */
const reportReaders: Readonly<Record<ReportKind, (view: View, id: number) => Promise<Report | undefined>>> = {
  /** One job reports signatories and invited people, because both are known on sending (DECISIONS.md, R33). */
  "report-signatories": async (view, id) => {
    const contract = await view.get(contracts, id);
    if (!contract) return undefined;
    const hashes = contract.signatories.map(({ email }) => hashEmail(email));
    const { openTokens, endedTokens } = await listTokens(view, { by: "contract", equals: id });
    const { cluster_id } = contract;
    const send = ({ sendBulk }: ReportRouter) =>
      sendBulk([addSignatories, hashes], [mapTokens, openTokens], [endTokens, endedTokens]);
    return { cluster_id, send };
  },

  /** Maps the invitations to a contract while they are open (DECISIONS.md, R34). */
  "report-invitations": async (view, id) => {
    const { cluster_id, openTokens, endedTokens } = await listTokens(view, { by: "contract", equals: id });
    return cluster_id === undefined
      ? undefined
      : { cluster_id, send: ({ sendBulk }) => sendBulk([mapTokens, openTokens], [endTokens, endedTokens]) };
  },

  /** After the acceptance, reports the address, the API key if it acts for the member, and the end of the token. */
  "report-member": async (view, id) => {
    const user = await view.get(users, id);
    const workspace = user && (await view.get(workspaces, user.workspace_id));
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const { openTokens, endedTokens } = await listTokens(view, { by: "user", equals: id });
    const client = { client_ids: [client_id], cluster_id };
    const send = async (router: ReportRouter) =>
      (!user.is_active || (await mapAddress(router, hashEmail(user.email), cluster_id))) === true &&
      (acting_user_id !== id || (await router.request("POST", "/router/v1/cluster_clients/bulk", client))) === true &&
      router.sendBulk([mapCreatorTokens, openTokens], [endCreatorTokens, endedTokens]);
    return { cluster_id, send };
  },

  /** Maps the chat_a team in which an app was installed to the cluster of the workspace (DECISIONS.md, R21). */
  "report-installation": async (view, id) => {
    const { cluster_id, account } = (await view.get(appInstallations, id)) ?? {};
    if (!cluster_id || !account) return undefined;
    const teams = { chat_a_team_id_list: [account.id], cluster_id };
    return { cluster_id, send: ({ request }) => request("POST", "/router/v1/cluster_chat_a_teams/bulk", teams) };
  },
};

async function listTokens(view: View, slice: IndexQuery<"contract" | "user">) {
  const rows = await view.list(invitations, slice);
  const listBy = (isOpen: boolean) =>
    rows.flatMap(({ state, token }) => ((state === "PENDING") === isOpen ? token : []));
  return { cluster_id: rows[0]?.cluster_id, openTokens: listBy(true), endedTokens: listBy(false) };
}

/** A signup does not move an address from another cluster (DECISIONS.md, R23). */
async function mapAddress({ request }: ReportRouter, hash: string, cluster_id: string) {
  const ownerResult = await request("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (ownerResult !== "not-found") return ownerResult;
  return request("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id });
}

interface ReportContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly router: RouterClient;
  readonly deterministic: boolean;
  /** Called after the last failed retry, with a log line. */
  readonly onGiveUp: (line: string) => void;
}

/** Virtual minutes before each retry. The cluster gives up after the last one. */
const retryDelaysMinutes = [1, 2, 4, 8, 16];

export function createReportJobHandlers(context: ReportContext): JobHandlers {
  const batcher = new ReportBatcher(context.router, context.wall, context.deterministic);

  async function sendReport(kind: ReportKind, entry: ScheduledEntry, signal: AbortSignal): Promise<JobCommit> {
    const { report, cluster } = await context.store.read(async (view) => {
      const report = await reportReaders[kind](view, parseReportRef(entry.ref).id);
      return { report, cluster: report && (await view.get(clusterRows, report.cluster_id)) };
    });
    // An external back end sends its own reports.
    if (!report || cluster?.external_url !== null) return (tx) => endEntry(tx, entry, "nothing-to-report");
    const sender = { cluster_id: cluster.id, key: cluster.key, cause: getCause(entry), signal };
    const isAccepted = await report.send({
      request: context.router(sender),
      sendBulk: (...reports) => batcher.send(sender, reports),
    });
    return (tx) => (isAccepted === true ? endEntry(tx, entry, "reported") : scheduleRetry(tx, entry, context));
  }

  return Object.fromEntries(
    reportKinds.map((kind) => [kind, { start: (_, entry, signal) => sendReport(kind, entry, signal) }]),
  );
}

async function endEntry(tx: Transaction, entry: ScheduledEntry, outcome: string): Promise<string> {
  if ((await tx.get(schedule, entry.id))?.ref === entry.ref) dequeue(tx, entry);
  return outcome;
}

async function scheduleRetry(tx: Transaction, entry: ScheduledEntry, { clock, onGiveUp }: ReportContext) {
  const queuedEntry = await tx.get(schedule, entry.id);
  if (queuedEntry?.ref !== entry.ref) return "gone";
  const { id, failures } = parseReportRef(entry.ref);
  const minutes = retryDelaysMinutes[failures];
  if (minutes === undefined) {
    onGiveUp(`the router rejected ${entry.kind} ${id} ${failures + 1} times. It is not retried`);
    return endEntry(tx, entry, "given-up");
  }
  enqueue(tx, { ...entry, ref: formatReportRef(id, failures + 1), due: clock.now() + minutes * 60_000 });
  return "retrying";
}
