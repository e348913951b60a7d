import * as z from "zod";
import { type InstallableApp, installableApps } from "../../src/api/emulator/installations.ts";
import { redeemProviderCode } from "../domain/provider.ts";
import type { Workspace } from "../domain/workspaces.ts";
import { createJsonPassthrough } from "../http/reply.ts";
import { defineNumberedRows, storedTime, type Transaction } from "../store/port.ts";
import { evictOldest } from "../store/rows.ts";
import type { ClusterContext, ForwardedHandler } from "./context.ts";
import { scheduleReport } from "./reports/report.ts";
import { readOAuthParameters } from "./response.ts";

/**
 * The state names the cluster if the router reads it. The redirects of chat_a go to all clusters of a destination, so
 * its state does not (specification, oauth_redirect).
 */
export function beginAppInstallation(
  tx: Transaction,
  { clock, ids }: Pick<ClusterContext, "clock" | "ids">,
  app: InstallableApp,
  { id: workspace_id, cluster_id }: Workspace,
): AppInstallation {
  const row: AppInstallation = {
    id: tx.next("installation"),
    app,
    cluster_id,
    workspace_id,
    state: app === "chat_a" ? ids.token(24) : `${cluster_id}_${ids.token(24)}`,
    status: "PENDING",
    account: null,
    begun_at: clock.now(),
    ended_at: null,
  };
  tx.put(appInstallations, row);
  evictOldest(tx, appInstallations, { stays: ({ status }) => status === "INSTALLED" });
  return row;
}

const chatARedirect = /^\/router\/v1\/integrations\/destinations\/[^/]+\/chat_a\/oauth_redirect$/;
const providerRedirect = /^\/router\/v1\/oauth2\.0\/external\/([^/]+)\/redirect$/;

/** An unknown state gets a 404, so that the router uses the response of the issuing cluster. */
export const completeAppInstallation: ForwardedHandler = async (request, { store, cluster, clock }, finding) => {
  const { path } = request.parsedTarget;
  const app = chatARedirect.test(path) ? "chat_a" : providerRedirect.exec(path)?.[1];
  if (app === undefined || request.method !== "GET") return undefined;
  const { state = "", code = "", error } = readOAuthParameters(request);
  const reject = (status: number, detail: string) => {
    finding("installation-refused", detail);
    return createJsonPassthrough(status, { detail });
  };
  return store.transaction("installations.redirect", (tx) => {
    const [installation] = tx.list(appInstallations, { by: "state", equals: state, limit: 1 });
    if (installation?.cluster_id !== cluster.id || installation.app !== app || installation.status !== "PENDING") {
      return reject(404, "Unknown or used state");
    }
    const ended_at = clock.now();
    if (error !== undefined) {
      tx.put(appInstallations, { ...installation, status: "REFUSED", ended_at });
      return reject(400, `The installation was denied: ${error}`);
    }
    const account = redeemProviderCode(tx, app, code);
    if (!account) return reject(400, "Unknown or used code");
    tx.put(appInstallations, { ...installation, status: "INSTALLED", account, ended_at });
    // The router does not need the owner of a provider's account, because providers send no requests.
    if (app === "chat_a") scheduleReport(tx, "report-installation", installation.id, ended_at);
    return createJsonPassthrough(200, {
      cluster_id: cluster.id,
      workspace_id: installation.workspace_id,
      app,
      account,
    });
  });
};

/** The redirect with the state completes the installation (DECISIONS.md, R21, R26). */
export const AppInstallation = z.strictObject({
  id: z.int(),
  app: z.enum(installableApps),
  cluster_id: z.string(),
  workspace_id: z.int(),
  /** Valid for one redirect. */
  state: z.string(),
  status: z.enum(["PENDING", "INSTALLED", "REFUSED"]),
  /** The team of chat_a, or the account at a provider. Null until the app is installed. */
  account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  /** Start and end of the installation, in virtual milliseconds. */
  begun_at: storedTime(z.int()),
  ended_at: storedTime(z.int()).nullable(),
});
export type AppInstallation = z.infer<typeof AppInstallation>;

export const appInstallations = defineNumberedRows("installations", "installation", AppInstallation, {
  state: (row) => row.state,
});
