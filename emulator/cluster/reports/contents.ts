import { emailHash } from "../../../src/schemes/email-hash.ts";
import type { View } from "../../store/port.ts";
import { users, workspaces } from "../../world/workspaces.ts";
import { contracts } from "../contracts/rows.ts";
import { invitations } from "../invitations/rows.ts";
import type { ReportKind } from "./report.ts";
import type { Ask } from "./router-line.ts";

interface Report {
  readonly cluster_id: string;
  /** Makes the calls; whether the router took them all. */
  content(ask: Ask): Promise<boolean>;
}

const tokensAt = (kind: "creator" | "counter_party"): string => `/router/v1/cluster_tokens/bulk/${kind}`;

/** What each kind of report says, as it is true now; undefined where there is nothing to say. */
export const contents: Readonly<Record<ReportKind, (view: View, id: string) => Promise<Report | undefined>>> = {
  /** Who signs a contract: one call for all of them (DECISIONS.md, R33). */
  "report-signatories": async (view, id) => {
    const contract = await view.get(contracts, id);
    if (!contract || contract.signatories.length === 0) return undefined;
    const { cluster_id: cluster, signatories } = contract;
    const body = signatories.map(({ email }) => ({ signatory_hash: emailHash(email), cluster }));
    const path = "/router/v1/contract_signatories/";
    return { cluster_id: cluster, content: async (ask) => isTaken(await ask("POST", path, body)) };
  },

  /** The invitations to a contract are mapped while they are open (DECISIONS.md, R34). */
  "report-invitations": async (view, id) => {
    const all = await view.list(invitations, { by: "contract", equals: Number(id) });
    const cluster_id = all[0]?.cluster_id;
    if (cluster_id === undefined) return undefined;
    const open = all.filter(({ state }) => state === "PENDING");
    const over = all.filter(({ state }) => state !== "PENDING");
    const bulk = (ask: Ask, method: "POST" | "DELETE", of: typeof all) =>
      ask(method, tokensAt("counter_party"), { tokens: of.map(({ token }) => token), cluster_id });
    return {
      cluster_id,
      content: async (ask) =>
        (open.length === 0 || isTaken(await bulk(ask, "POST", open))) &&
        (over.length === 0 || isTaken(await bulk(ask, "DELETE", over))),
    };
  },

  /** A new member: their address, the API key of the workspace if it acts as them, and the end of their invitation. */
  "report-member": async (view, id) => {
    const user = await view.get(users, id);
    const workspace = user && (await view.get(workspaces, String(user.workspace_id)));
    if (!workspace) return undefined;
    const { cluster_id, client_id, acting_user_id } = workspace;
    const hash = emailHash(user.email);
    const issued = await view.list(invitations, { by: "user", equals: user.id });
    const tokens = issued.flatMap(({ state, token }) => (state === "PENDING" ? [] : token));
    const client = { client_ids: [client_id], cluster_id };
    return {
      cluster_id,
      content: async (ask) =>
        (await mapAddress(ask, hash, cluster_id)) &&
        (acting_user_id !== user.id || isTaken(await ask("POST", "/router/v1/cluster_clients/bulk", client))) &&
        (tokens.length === 0 || isTaken(await ask("DELETE", tokensAt("creator"), { tokens, cluster_id }))),
    };
  },
};

/** An address that another cluster has stays there: nobody is moved by a sign-up (DECISIONS.md, R23). */
async function mapAddress(ask: Ask, hash: string, cluster_id: string): Promise<boolean> {
  const known = await ask("GET", `/router/v1/cluster_emails/email/${hash}`);
  if (known?.status !== 404) return isTaken(known);
  return isTaken(await ask("POST", "/router/v1/cluster_emails/bulk", { email_hash_list: [hash], cluster_id }));
}

const isTaken = (answer: { readonly status: number } | undefined): boolean =>
  answer !== undefined && answer.status < 300;
