import { isOneOf } from "../../../src/base/one-of.ts";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import { evictOldest } from "../../store/retention.ts";
import { authorizationUrl, redeemProviderCode } from "../../world/provider.ts";
import { type User, users } from "../../world/workspaces.ts";
import type { ClusterContext } from "../context.ts";
import { acceptInvitation, invitations } from "../invitations/invitations.ts";
import { scheduleReport } from "../reports/report.ts";
import { createJsonResponse, readOAuthParameters } from "../response.ts";
import { addWorkspace } from "../workspace/new-workspace.ts";
import { findUserByEmail, providerStates } from "./grants.ts";

type Flow = "login" | "signup";

/** Those of trial signups, too. */
const providers = ["ProviderA", "ProviderB", "ProviderC"] as const;

/** Begins a login or a signup with a provider; the state brings the callback to this cluster (DECISIONS.md, R25). */
export const startProviderSignIn =
  (flow: Flow) =>
  async (request: ReceivedRequest, { store, cluster, settings, ids }: ClusterContext): Promise<Passthrough> => {
    const { provider = "ProviderA" } = readOAuthParameters(request);
    if (!isOneOf(providers, provider)) return detail(400, `Unknown provider. Known: ${providers.join(", ")}`);
    const state = `${cluster.id}_${ids.token(24)}`;
    await store.transaction(`identity.${flow}`, (tx) => {
      tx.put(providerStates, { state, cluster_id: cluster.id, provider, flow });
      return evictOldest(tx, providerStates);
    });
    return createJsonResponse(200, {
      authorization_url: authorizationUrl(settings.publicUrl, { flow, provider, state }),
      state,
    });
  };

/**
 * Takes the provider's word for who somebody is. A login needs a user of the cluster with that address; a sign-up makes
 * one where there is none.
 */
export const completeProviderSignIn =
  (flow: Flow) =>
  (request: ReceivedRequest, world: ClusterContext): Promise<Passthrough> => {
    const { store, cluster } = world;
    const { state = "", code = "" } = readOAuthParameters(request);
    return store.transaction(`identity.${flow}-callback`, async (tx) => {
      const begun = await tx.get(providerStates, state);
      if (begun?.cluster_id !== cluster.id || begun.flow !== flow) return detail(400, "Unknown or used state");
      const account = await redeemProviderCode(tx, begun.provider, code);
      if (!account) return detail(400, "Unknown or used code");
      const person = { email: account.id, name: account.name };
      tx.delete(providerStates, state);
      const known = await findUserByEmail(tx, cluster.id, person.email);
      if (flow === "login" && !known) return detail(404, "No account with this e-mail");
      const user = known ?? (await accountFor(tx, world, person));
      if (!user) return detail(400, "An account with this e-mail exists");
      return createJsonResponse(200, {
        cluster_id: cluster.id,
        oauth_provider: begun.provider,
        email: person.email,
        name: person.name,
        user_id: user.id,
        workspace_id: user.workspace_id,
      });
    });
  };

const detail = (status: number, sentence: string): Passthrough => createJsonResponse(status, { detail: sentence });

/** Whom a provider vouches for. */
interface Person {
  readonly email: string;
  readonly name: string;
}

/**
 * The account of somebody who signs up with a provider and has none at this cluster: that of an open invitation, which
 * this accepts, else the owner of a workspace of their own (DECISIONS.md, R25). Undefined: another cluster has them.
 */
async function accountFor(tx: Transaction, world: ClusterContext, { email, name }: Person): Promise<User | undefined> {
  const at = world.clock.now();
  const known = await tx.list(users, { by: "email", equals: addressKey(email) });
  for (const { id } of known) {
    const [open] = (await tx.list(invitations, { by: "user", equals: id })).filter(({ state }) => state === "PENDING");
    if (open?.cluster_id === world.cluster.id) return acceptInvitation(tx, open, at);
  }
  if (known.length > 0) return undefined;
  const owner = { name: name.trim() || email.trim(), email: email.trim(), designation: null };
  const founding = { name: `Workspace of ${owner.name}`, industry: null, use_case: null, owner };
  const { acting_user_id } = await addWorkspace(tx, world, founding);
  scheduleReport(tx, "report-member", acting_user_id, at);
  return tx.get(users, acting_user_id);
}
