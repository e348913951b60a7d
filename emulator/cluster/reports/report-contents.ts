import type { Clock } from "../../../src/base/clock.ts";
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
  formatReportRef,
  parseReportRef,
  type ReportKind,
  type RouterClient,
  type RouterRequester,
  reportKinds,
} from "./report.ts";

interface Report {
  readonly cluster_id: string;
  /** Resolves with true if the router accepted everything. */
  readonly send: (request: RouterRequester) => Promise<boolean | "not-found">;
}

interface BulkOperation {
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly buildBody: (texts: readonly string[], clusterId: string) => unknown;
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

/** Sends lists one after another, without empty lists. Resolves with true if the router accepted all of them. */
async function sendBulk(
  request: RouterRequester,
  clusterId: string,
  ...lists: readonly (readonly [operation: BulkOperation, texts: readonly string[]])[]
): Promise<boolean> {
  for (const [{ method, path, buildBody }, texts] of lists) {
    if (texts.length > 0 && (await request(method, path, buildBody(texts, clusterId))) !== true) return false;
  }
  return true;
}

/** Readers of each kind of report. A report is undefined if there is nothing to report. */
const reportReaders: Readonly<Record<ReportKind, (view: View, id: number) => Promise<Report | undefined>>> = {
  /** One job reports signatories and invited people, because both are known on sending (DECISIONS.md, R33). */
  "report-signatories": async (view, id) => {
    const contract = await view.get(contracts, id);
    if (!contract) return undefined;
    const hashes = contract.signatories.map(({ email }) => hashEmail(email));
    const { openTokens, endedTokens } = await listTokens(view, { by: "contract", equals: id });
    const { cluster_id } = contract;
    const send = (request: RouterRequester) =>
      sendBulk(request, cluster_id, [addSignatories, hashes], [mapTokens, openTokens], [endTokens, endedTokens]);
    return { cluster_id, send };
  },

  /** Maps the invitations to a contract while they are open (DECISIONS.md, R34). */
  "report-invitations": async (view, id) => {
    const { cluster_id, openTokens, endedTokens } = await listTokens(view, { by: "contract", equals: id });
    if (cluster_id === undefined) return undefined;
    const send = (request: RouterRequester) =>
      sendBulk(request, cluster_id, [mapTokens, openTokens], [endTokens, endedTokens]);
    return { cluster_id, send };
  },

  /** After the acceptance, reports the address, the API key if it acts for the member, and the end of the token. */
  "report-member": async (view, id) => {
    const user = await view.get(users, id);
    const workspace = user && (await view.get(workspaces, user.workspace_id));
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const { openTokens, endedTokens } = await listTokens(view, { by: "user", equals: id });
    const client = { client_ids: [client_id], cluster_id };
    const send = async (request: RouterRequester) =>
      (!user.is_active || (await mapAddress(request, hashEmail(user.email), cluster_id))) === true &&
      (acting_user_id !== id || (await request("POST", "/router/v1/cluster_clients/bulk", client))) === true &&
      sendBulk(request, cluster_id, [mapCreatorTokens, openTokens], [endCreatorTokens, endedTokens]);
    return { cluster_id, send };
  },

  /** Maps the chat_a team in which an app was installed to the cluster of the workspace (DECISIONS.md, R21). */
  "report-installation": async (view, id) => {
    const { cluster_id, account } = (await view.get(appInstallations, id)) ?? {};
    if (!cluster_id || !account) return undefined;
    const teams = { chat_a_team_id_list: [account.id], cluster_id };
    return { cluster_id, send: (request) => request("POST", "/router/v1/cluster_chat_a_teams/bulk", teams) };
  },
};

async function listTokens(view: View, slice: IndexQuery<"contract" | "user">) {
  const rows = await view.list(invitations, slice);
  const listBy = (isOpen: boolean) =>
    rows.flatMap(({ state, token }) => ((state === "PENDING") === isOpen ? token : []));
  return { cluster_id: rows[0]?.cluster_id, openTokens: listBy(true), endedTokens: listBy(false) };
}

/** A signup does not move an address from another cluster (DECISIONS.md, R23). */
async function mapAddress(request: RouterRequester, hash: string, cluster_id: string) {
  const ownerResult = await request("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (ownerResult !== "not-found") return ownerResult;
  return request("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id });
}

interface ReportContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly router: RouterClient;
  /** Called after the last failed retry, with a log line. */
  readonly onGiveUp: (line: string) => void;
}

/** Virtual minutes before each retry. The cluster gives up after the last one. */
const retryDelaysMinutes = [1, 2, 4, 8, 16];

export function createReportJobHandlers(context: ReportContext): JobHandlers {
  async function sendReport(kind: ReportKind, entry: ScheduledEntry, signal: AbortSignal): Promise<JobCommit> {
    const { report, cluster } = await context.store.read(async (view) => {
      const report = await reportReaders[kind](view, parseReportRef(entry.ref).id);
      return { report, cluster: report && (await view.get(clusterRows, report.cluster_id)) };
    });
    // An external back end sends its own reports.
    if (!report || cluster?.external_url !== null) return (tx) => endEntry(tx, entry, "nothing-to-report");
    const isAccepted = await report.send(context.router({ key: cluster.key, cause: getCause(entry), signal }));
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
