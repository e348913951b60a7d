import type { Clock, WallClock } from "../../../src/base/clock.ts";
import { hashEmail } from "../../../src/schemes/email-hash.ts";
import type { JobHandler, JobHandlers } from "../../clock/job-handler.ts";
import { dequeue, enqueue, getCause, type ScheduledEntry, schedule } from "../../clock/schedule.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import type { IndexQuery, Transaction, View } from "../../store/port.ts";
import { contracts } from "../contracts/rows.ts";
import { appInstallations } from "../installations.ts";
import { invitations } from "../invitations/invite.ts";
import { type BulkOperation, isSuccessStatus, ReportBatcher, type ReportSendHandler } from "./bulk-calls.ts";
import {
  formatReportRef,
  parseReportRef,
  type ReportKind,
  type ReportSender,
  type RouterClient,
  type RouterRequestSender,
  reportKinds,
} from "./report.ts";

type ReportContent = (ask: RouterRequestSender, send: ReportSendHandler) => Promise<boolean>;

interface Report {
  readonly cluster_id: string;
  readonly content: ReportContent;
}

const signatoriesAdded: BulkOperation = {
  method: "POST",
  path: "/router/v1/contract_signatories/",
  buildBody: (hashes, cluster) => hashes.map((signatory_hash) => ({ signatory_hash, cluster })),
};

const createTokenOperation = (method: "POST" | "DELETE", kind: "creator" | "counter_party"): BulkOperation => ({
  method,
  path: `/router/v1/cluster_tokens/bulk/${kind}`,
  buildBody: (given, cluster_id) => ({ tokens: given, cluster_id }),
});
const tokensMapped = createTokenOperation("POST", "counter_party");
const tokensEnded = createTokenOperation("DELETE", "counter_party");
const creatorTokensMapped = createTokenOperation("POST", "creator");
const creatorTokensEnded = createTokenOperation("DELETE", "creator");

/** Contents of each kind of report, from the current state. Undefined if there is nothing to report. */
const reportContents: Readonly<Record<ReportKind, (view: View, id: number) => Promise<Report | undefined>>> = {
  /**
   * Reports the signatories of a contract and its invited people. One job reports both, because both are known when the
   * contract is sent (DECISIONS.md, R33).
   */
  "report-signatories": async (view, id) => {
    const contract = await view.get(contracts, id);
    if (!contract) return undefined;
    const hashes = contract.signatories.map(({ email }) => hashEmail(email));
    const tokens = await listTokens(view, { by: "contract", equals: contract.id });
    return {
      cluster_id: contract.cluster_id,
      content: (_, send) => send([signatoriesAdded, hashes], [tokensMapped, tokens.open], [tokensEnded, tokens.over]),
    };
  },

  /** Maps the invitations to a contract while they are open (DECISIONS.md, R34). */
  "report-invitations": async (view, id) => {
    const { cluster_id, open, over } = await listTokens(view, { by: "contract", equals: id });
    if (cluster_id === undefined) return undefined;
    return { cluster_id, content: (_, send) => send([tokensMapped, open], [tokensEnded, over]) };
  },

  /**
   * Reports the token of an invited member. After the acceptance it reports the member's address, the API key of the
   * workspace if it acts for the member, and the end of the token.
   */
  "report-member": async (view, id) => {
    const user = await view.get(users, id);
    const workspace = user && (await view.get(workspaces, user.workspace_id));
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const hash = hashEmail(user.email);
    const { open, over } = await listTokens(view, { by: "user", equals: user.id });
    const client = { client_ids: [client_id], cluster_id };
    return {
      cluster_id,
      content: async (ask, send) =>
        (!user.is_active || (await mapAddress(ask, hash, cluster_id))) &&
        (acting_user_id !== user.id || isSuccessStatus(await ask("POST", "/router/v1/cluster_clients/bulk", client))) &&
        send([creatorTokensMapped, open], [creatorTokensEnded, over]),
    };
  },

  /** Maps the chat_a team in which an app was installed to the cluster of the workspace (DECISIONS.md, R21). */
  "report-installation": async (view, id) => {
    const { cluster_id, account } = (await view.get(appInstallations, id)) ?? {};
    if (!cluster_id || !account) return undefined;
    const teams = { chat_a_team_id_list: [account.id], cluster_id };
    return {
      cluster_id,
      content: async (ask) => isSuccessStatus(await ask("POST", "/router/v1/cluster_chat_a_teams/bulk", teams)),
    };
  },
};

async function listTokens(view: View, slice: IndexQuery<"contract" | "user">) {
  const open: string[] = [];
  const over: string[] = [];
  let cluster_id: string | undefined;
  for (const each of await view.list(invitations, slice)) {
    cluster_id = each.cluster_id;
    (each.state === "PENDING" ? open : over).push(each.token);
  }
  return { cluster_id, open, over };
}

/**
 * Maps an address unless it belongs to another cluster, because a signup does not move addresses (DECISIONS.md, R23).
 */
async function mapAddress(ask: RouterRequestSender, hash: string, cluster_id: string): Promise<boolean> {
  const known = await ask("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (known !== 404) return isSuccessStatus(known);
  return isSuccessStatus(await ask("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id }));
}

interface ReportContext {
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly line: RouterClient;
  /** True if reports wait for each other, so that their order is the same in every run. */
  readonly deterministic: boolean;
  /** Called after the last failed retry, with a log line. */
  readonly giveUp: (line: string) => void;
}

/**
 * Virtual minutes before each retry of a report that the router did not accept. The cluster gives up after the last
 * one.
 */
const retryDelaysMinutes = [1, 2, 4, 8, 16];

/**
 * The pause is not noticeable, but a busy machine sends several contracts in that time. Half of the schedule's slots
 * stay free.
 */
const gatheringLimits = { pauseMs: 25, maxWaitMs: 250, maxItems: 32 };

/**
 * Returns handlers for the scheduled reports of clusters to the router. The ref of an entry contains the id of a
 * contract or a member, and the number of failures.
 */
export function createReportJobHandlers(context: ReportContext): JobHandlers {
  const { line, wall, deterministic } = context;
  const calls = new ReportBatcher({ line, wall, gather: gatheringLimits, inTurn: deterministic });

  const report = (content: ReportContent, sender: ReportSender) =>
    content((...call) => line.ask(sender, ...call), calls.createSender(sender));

  const createHandler = (kind: ReportKind): JobHandler => ({
    prepare: (view, entries) =>
      Promise.all(
        entries.map(async (entry) => {
          const { cluster_id, content } =
            (await reportContents[kind](view, Number(parseReportRef(entry.ref).id))) ?? {};
          const key = cluster_id === undefined ? undefined : await findKey(view, cluster_id);
          return async (signal) => {
            const isEmpty = cluster_id === undefined || content === undefined || key === undefined;
            const wasAccepted = isEmpty || (await report(content, { cluster_id, key, cause: getCause(entry), signal }));
            const outcome = isEmpty ? "nothing-to-report" : "reported";
            return (tx: Transaction) =>
              wasAccepted ? endEntry(tx, entry, outcome) : scheduleAgain(tx, entry, context);
          };
        }),
      ),
  });
  return Object.fromEntries(reportKinds.map((kind) => [kind, createHandler(kind)]));
}

/** Returns undefined for an external back end, which sends its own reports. */
async function findKey(view: View, clusterId: string): Promise<string | undefined> {
  const row = await view.get(clusterRows, clusterId);
  return row?.external_url === null ? row.key : undefined;
}

async function endEntry(tx: Transaction, entry: ScheduledEntry, outcome: string): Promise<string> {
  if ((await tx.get(schedule, entry.id))?.ref === entry.ref) dequeue(tx, entry);
  return outcome;
}

async function scheduleAgain(
  tx: Transaction,
  entry: ScheduledEntry,
  { clock, giveUp }: ReportContext,
): Promise<string> {
  const waiting = await tx.get(schedule, entry.id);
  if (waiting?.ref !== entry.ref) return "gone";
  const { id, failures } = parseReportRef(entry.ref);
  const minutes = retryDelaysMinutes[failures];
  if (minutes === undefined) {
    giveUp(`the router rejected ${entry.kind} ${id} ${failures + 1} times. It is not retried`);
    return endEntry(tx, entry, "given-up");
  }
  enqueue(tx, { ...entry, ref: formatReportRef(id, failures + 1), due: clock.now() + minutes * 60_000 });
  return "retrying";
}
