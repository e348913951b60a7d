import type { Workspace } from "../../world/workspaces.ts";
import type { Invitation } from "./rows.ts";

/** An invitation that a cluster issued, or one of the seed: those name nobody, and were issued at no time. */
export interface AnyInvitation extends Omit<Invitation, "user_id" | "email" | "name" | "issued_at"> {
  readonly email: string | null;
  readonly name: string | null;
  readonly issued_at: number | null;
}

/** What whoever asks is told of an invitation: the person who has its token, and the control plane. */
export const sharedFields = ({ token, kind, state, email, name, cluster_id }: AnyInvitation) => ({
  token,
  kind,
  state,
  email,
  name,
  cluster_id,
});

/** The tokens that a seed gives to a workspace, as the invitations that they are. */
export const seededInvitations = (workspace: Workspace): readonly AnyInvitation[] => [
  ...workspace.creator_tokens.map((token) => seeded("creator", token, workspace)),
  ...workspace.counterparty_tokens.map((token) => seeded("counterparty", token, workspace)),
];

const seeded = (kind: Invitation["kind"], token: string, { id, cluster_id }: Workspace): AnyInvitation => ({
  token,
  kind,
  cluster_id,
  workspace_id: id,
  contract_id: null,
  email: null,
  name: null,
  state: "PENDING",
  issued_at: null,
});
