import { OAuthProviderType } from "../../../src/api/router/external-oauth.ts";
import { LoginV2Request } from "../../../src/api/router/proxied.ts";
import { jsonObject } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { workspaces } from "../../world/workspaces.ts";
import { json } from "../answer.ts";
import type { ClusterWorld } from "../world.ts";
import { userOfEmail } from "./people.ts";

/** Says how the person of an address signs in: by any provider, whose stand-in takes everybody (DECISIONS.md, R34). */
export async function howToLogIn(
  { body }: Pick<ReceivedRequest, "body">,
  { store, cluster, settings }: ClusterWorld,
): Promise<Passthrough> {
  const request = LoginV2Request.safeParse(jsonObject(body));
  if (!request.success) return json(400, { detail: "This is no request with an email" });
  const found = await store.read(async (view) => {
    const user = await userOfEmail(view, cluster.id, request.data.email);
    return user && { user, workspace: await view.get(workspaces, user.workspace_id) };
  });
  if (!found) return json(404, { detail: "No account with this e-mail" });
  const { user, workspace } = found;
  return json(200, {
    cluster_id: cluster.id,
    email: user.email,
    name: user.name,
    workspace: { id: user.workspace_id, name: workspace?.name },
    sign_in: OAuthProviderType.options.map((provider) => ({
      method: "oauth",
      provider,
      login_url: `${settings.publicUrl}/api/v1/svc_auth/oauth/login?${new URLSearchParams({ provider, cluster_id: cluster.id })}`,
    })),
  });
}
