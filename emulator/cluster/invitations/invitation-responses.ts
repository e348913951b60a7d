import { findInvitationKind, type InvitationKind, workspaces } from "../../domain/workspaces.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { parseRequestTarget } from "../../http/routing/path.ts";
import type { View } from "../../store/port.ts";
import type { ClusterContext } from "../context.ts";
import { contracts, formatCompositeId } from "../contracts/rows.ts";
import { createJsonResponse } from "../response.ts";
import { type AnyInvitation, invitations, listSeededInvitations, pickSharedFields } from "./invite.ts";

const contractInvite = /^\/(?:v3\/)?contract-invite\/([^/]+)\/by_token\/([^/]+)$/;
const userInvite = /^\/organization\/user-invite\/by_token\/([^/]+)$/;
const inviteInfo = "/auth/v3/invite_info/";

/**
 * Responds with the invitation of a token that this cluster issued, and with 404 for any other token, so that a
 * broadcast finds the right cluster (DECISIONS.md, R34). Undefined for other requests.
 */
export async function respondToInvitation(
  { method, target }: Pick<ReceivedRequest, "method" | "target">,
  { store, cluster }: Pick<ClusterContext, "store" | "cluster">,
): Promise<Passthrough | undefined> {
  const query = method === "GET" ? parseInvitationQuery(target) : undefined;
  if (!query) return undefined;
  const found = await store.read(async (view) => {
    const invitation = await findInvitation(view, cluster.id, query.token);
    return invitation && (query.kind ?? invitation.kind) === invitation.kind
      ? toInvitationRecord(view, invitation)
      : undefined;
  });
  return found ? createJsonResponse(200, found) : createJsonResponse(404, { detail: "Invitation not found" });
}

interface InvitationQuery {
  readonly token: string;
  /** Undefined: of either kind. */
  readonly kind?: InvitationKind | undefined;
}

function parseInvitationQuery(target: string): InvitationQuery | undefined {
  const { path, search } = parseRequestTarget(target);
  if (path === inviteInfo) return { token: new URLSearchParams(search).get("token") ?? "" };
  const [, emailType = "", contractToken] = contractInvite.exec(path) ?? [];
  if (contractToken !== undefined) return { token: contractToken, kind: findInvitationKind(emailType) };
  const [, token] = userInvite.exec(path) ?? [];
  return token === undefined ? undefined : { token };
}

/** An invitation of the cluster. */
async function findInvitation(view: View, clusterId: string, token: string): Promise<AnyInvitation | undefined> {
  const issued = await view.get(invitations, token);
  if (issued) return issued.cluster_id === clusterId ? issued : undefined;
  const named = await view.list(workspaces, { by: "invite", equals: token });
  const workspace = named.find(({ cluster_id }) => cluster_id === clusterId);
  return workspace && listSeededInvitations(workspace).find((each) => each.token === token);
}

async function toInvitationRecord(view: View, invitation: AnyInvitation) {
  const { workspace_id, contract_id } = invitation;
  const workspace = await view.get(workspaces, workspace_id);
  const contract = contract_id === null ? undefined : await view.get(contracts, contract_id);
  return {
    ...pickSharedFields(invitation),
    workspace: { id: workspace_id, name: workspace?.name },
    contract:
      contract?.deleted_at === null
        ? { id: formatCompositeId(contract), contract_name: contract.name, contract_status: contract.status }
        : null,
  };
}
