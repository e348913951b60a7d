import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import { users } from "../../domain/workspaces.ts";
import type { View } from "../../store/port.ts";
import { trialWorkspaces } from "./trial-workspace.ts";

/**
 * Whether a user of any workspace has that address, active or not. The workspace that was created for the signup itself
 * does not count, so that the signup can be repeated.
 */
export async function hasAccount(
  view: View,
  { email, token }: { readonly email: string; readonly token?: string | undefined },
): Promise<boolean> {
  const trialWorkspace = token === undefined ? undefined : await view.get(trialWorkspaces, token);
  const found = await view.list(users, { by: "email", equals: toAddressKey(email) });
  return found.some(({ workspace_id }) => workspace_id !== trialWorkspace?.workspace_id);
}
