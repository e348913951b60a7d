import type { Clock } from "../../../src/base/clock.ts";
import { hashEmail } from "../../../src/base/email-address.ts";
import type { JobHandler, JobHandlers } from "../../clock/job-handler.ts";
import { dequeue, enqueue, getCause, type ScheduledEntry, schedule } from "../../clock/schedule.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import type { IndexQuery, Transaction, View } from "../../store/port.ts";
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

/** Maps open tokens and removes ended ones. Resolves with true if the router accepted both lists. */
async function sendTokens(
  request: RouterRequester,
  kind: "creator" | "counter_party",
  cluster_id: string,
  { openTokens, endedTokens }: ReturnType<typeof listTokens>,
): Promise<boolean> {
  const path = `/router/v1/cluster_tokens/bulk/${kind}`;
  const send = async (method: "POST" | "DELETE", tokens: readonly string[]) =>
    tokens.length === 0 || (await request(method, path, { tokens, cluster_id })) === true;
  return (await send("POST", openTokens)) && send("DELETE", endedTokens);
}

/** Readers of each kind of report. A report is undefined if there is nothing to report. */
const reportReaders: Readonly<Record<ReportKind, (view: View, id: number) => Report | undefined>> = {
  /** One job reports signatories and invited people, because both are known on sending (DECISIONS.md, R33). */
  "report-signatories": (view, id) => {
    const contract = view.get(contracts, id);
    if (!contract) return undefined;
    const { cluster_id: cluster, signatories } = contract;
    const rows = signatories.map(({ email }) => ({ signatory_hash: hashEmail(email), cluster }));
    const tokens = listTokens(view, { by: "contract", equals: id });
    const send = async (request: RouterRequester) =>
      (rows.length === 0 || (await request("POST", "/router/v1/contract_signatories/", rows))) === true &&
      sendTokens(request, "counter_party", cluster, tokens);
    return { cluster_id: cluster, send };
  },

  /** Maps the invitations to a contract while they are open (DECISIONS.md, R34). */
  "report-invitations": (view, id) => {
    const { cluster_id } = view.get(contracts, id) ?? {};
    if (!cluster_id) return undefined;
    const tokens = listTokens(view, { by: "contract", equals: id });
    return { cluster_id, send: (request) => sendTokens(request, "counter_party", cluster_id, tokens) };
  },

  /** After the acceptance, reports the address, the API key if it acts for the member, and the end of the token. */
  "report-member": (view, id) => {
    const user = view.get(users, id);
    const workspace = user && view.get(workspaces, user.workspace_id);
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const tokens = listTokens(view, { by: "user", equals: id });
    const client = { client_ids: [client_id], cluster_id };
    const send = async (request: RouterRequester) =>
      (!user.is_active || (await mapAddress(request, hashEmail(user.email), cluster_id))) === true &&
      (acting_user_id !== id || (await request("POST", "/router/v1/cluster_clients/bulk", client))) === true &&
      sendTokens(request, "creator", cluster_id, tokens);
    return { cluster_id, send };
  },

  /** Maps the chat_a team in which an app was installed to the cluster of the workspace (DECISIONS.md, R21). */
  "report-installation": (view, id) => {
    const { cluster_id, account } = view.get(appInstallations, id) ?? {};
    if (!cluster_id || !account) return undefined;
    const teams = { chat_a_team_id_list: [account.id], cluster_id };
    return { cluster_id, send: (request) => request("POST", "/router/v1/cluster_chat_a_teams/bulk", teams) };
  },
};

function listTokens(view: View, slice: IndexQuery<"contract" | "user">) {
  const rows = view.list(invitations, slice);
  const listBy = (isOpen: boolean) =>
    rows.flatMap(({ state, token }) => ((state === "PENDING") === isOpen ? token : []));
  return { openTokens: listBy(true), endedTokens: listBy(false) };
}

/** A signup does not move an address from another cluster (DECISIONS.md, R23). */
async function mapAddress(request: RouterRequester, hash: string, cluster_id: string) {
  const ownerResult = await request("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (ownerResult !== "not-found") return ownerResult;
  return request("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id });
}

interface ReportContext {
  readonly clock: Clock;
  readonly router: RouterClient;
  /** Called after the last failed retry, with a log line. */
  readonly onGiveUp: (line: string) => void;
}

/** Virtual minutes before each retry. The cluster gives up after the last one. */
const retryDelaysMinutes = [1, 2, 4, 8, 16];

export function createReportJobHandlers(context: ReportContext): JobHandlers {
  const createHandler = (kind: ReportKind): JobHandler => ({
    async start(view, entry, signal) {
      const report = reportReaders[kind](view, parseReportRef(entry.ref).id);
      const cluster = report && view.get(clusterRows, report.cluster_id);
      // An external back end sends its own reports.
      if (!report || cluster?.external_url !== null) return (tx) => endEntry(tx, entry, "nothing-to-report");
      const isAccepted = await report.send(context.router({ key: cluster.key, cause: getCause(entry), signal }));
      return (tx) => (isAccepted === true ? endEntry(tx, entry, "reported") : scheduleRetry(tx, entry, context));
    },
  });

  return Object.fromEntries(reportKinds.map((kind) => [kind, createHandler(kind)]));
}

function endEntry(tx: Transaction, entry: ScheduledEntry, outcome: string): string {
  if (tx.get(schedule, entry.id)?.ref === entry.ref) dequeue(tx, entry);
  return outcome;
}

function scheduleRetry(tx: Transaction, entry: ScheduledEntry, { clock, onGiveUp }: ReportContext) {
  const queuedEntry = tx.get(schedule, entry.id);
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
