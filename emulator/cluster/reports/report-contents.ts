import { emailHash } from "../../../src/schemes/email-hash.ts";
import type { Slice, View } from "../../store/port.ts";
import { users, workspaces } from "../../world/workspaces.ts";
import { contracts } from "../contracts/rows.ts";
import { installations } from "../installations/installations.ts";
import { invitations } from "../invitations/invitations.ts";
import { type BulkOperation, isAccepted, type SendReports } from "./bulk-calls.ts";
import type { ReportKind, SendRouterRequest } from "./report.ts";

/** Makes the calls; whether the router took them all. */
export type ReportContent = (ask: SendRouterRequest, tell: SendReports) => Promise<boolean>;

interface Report {
  readonly cluster_id: string;
  readonly content: ReportContent;
}

const signatoriesAdded: BulkOperation = {
  method: "POST",
  path: "/router/v1/contract_signatories/",
  body: (hashes, cluster) => hashes.map((signatory_hash) => ({ signatory_hash, cluster })),
};

const tokens = (method: "POST" | "DELETE", kind: "creator" | "counter_party"): BulkOperation => ({
  method,
  path: `/router/v1/cluster_tokens/bulk/${kind}`,
  body: (given, cluster_id) => ({ tokens: given, cluster_id }),
});
const tokensMapped = tokens("POST", "counter_party");
const tokensEnded = tokens("DELETE", "counter_party");
const creatorTokensMapped = tokens("POST", "creator");
const creatorTokensEnded = tokens("DELETE", "creator");

/** What each kind of report says, as it is true now; undefined where there is nothing to say. */
export const reportContents: Readonly<Record<ReportKind, (view: View, id: number) => Promise<Report | undefined>>> = {
  /** Who signs a contract, and who is invited to it: one job, since both come true when it is sent (DECISIONS.md, R33). */
  "report-signatories": async (view, id) => {
    const contract = await view.get(contracts, id);
    if (!contract) return undefined;
    const hashes = contract.signatories.map(({ email }) => emailHash(email));
    const tokens = await tokensOf(view, { by: "contract", equals: contract.id });
    return {
      cluster_id: contract.cluster_id,
      content: (_, tell) => tell([signatoriesAdded, hashes], [tokensMapped, tokens.open], [tokensEnded, tokens.over]),
    };
  },

  /** The invitations to a contract are mapped while they are open (DECISIONS.md, R34). */
  "report-invitations": async (view, id) => {
    const { cluster_id, open, over } = await tokensOf(view, { by: "contract", equals: id });
    if (cluster_id === undefined) return undefined;
    return { cluster_id, content: (_, tell) => tell([tokensMapped, open], [tokensEnded, over]) };
  },

  /**
   * A member: while they are invited, the token; from then on their address, the API key of the workspace if it acts as
   * them, and that the token is over.
   */
  "report-member": async (view, id) => {
    const user = await view.get(users, id);
    const workspace = user && (await view.get(workspaces, user.workspace_id));
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const hash = emailHash(user.email);
    const { open, over } = await tokensOf(view, { by: "user", equals: user.id });
    const client = { client_ids: [client_id], cluster_id };
    return {
      cluster_id,
      content: async (ask, tell) =>
        (!user.is_active || (await mapAddress(ask, hash, cluster_id))) &&
        (acting_user_id !== user.id || isAccepted(await ask("POST", "/router/v1/cluster_clients/bulk", client))) &&
        tell([creatorTokensMapped, open], [creatorTokensEnded, over]),
    };
  },

  /** The team of chat_a that an app was installed in belongs to the cluster of the workspace (DECISIONS.md, R21). */
  "report-installation": async (view, id) => {
    const { cluster_id, account } = (await view.get(installations, id)) ?? {};
    if (!cluster_id || !account) return undefined;
    const teams = { chat_a_team_id_list: [account.id], cluster_id };
    return {
      cluster_id,
      content: async (ask) => isAccepted(await ask("POST", "/router/v1/cluster_chat_a_teams/bulk", teams)),
    };
  },
};

/** The tokens of a contract or a member, by whether they are still to lead anywhere, and the cluster that issued them. */
async function tokensOf(view: View, slice: Slice<"contract" | "user">) {
  const open: string[] = [];
  const over: string[] = [];
  let cluster_id: string | undefined;
  for (const each of await view.list(invitations, slice)) {
    cluster_id = each.cluster_id;
    (each.state === "PENDING" ? open : over).push(each.token);
  }
  return { cluster_id, open, over };
}

/** An address that another cluster has stays there: nobody is moved by a sign-up (DECISIONS.md, R23). */
async function mapAddress(ask: SendRouterRequest, hash: string, cluster_id: string): Promise<boolean> {
  const known = await ask("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (known !== 404) return isAccepted(known);
  return isAccepted(await ask("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id }));
}
