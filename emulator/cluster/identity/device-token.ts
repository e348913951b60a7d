import type { ReceivedRequest } from "../../http/handler.ts";
import { type Passthrough, uncached } from "../../http/reply.ts";
import { namedClient } from "../../world/client-credentials.ts";
import { json, oauthError } from "../answer.ts";
import { parametersOf } from "../parameters.ts";
import type { ClusterWorld } from "../world.ts";
import { deviceApprovals } from "./grants.ts";
import { firstUser, userOfId } from "./people.ts";
import { defaultScope } from "./scopes.ts";
import { issueTokens, keepRefreshToken } from "./tokens.ts";

const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const issuedType = { issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };

/**
 * Issues the tokens of a device whose user code was approved. The router asks only then, by forwarding the poll: that
 * the grant is good is the router's knowledge (DECISIONS.md, R30). They are for whoever approved, where that was
 * told, else for the first workspace's acting user.
 */
export async function deviceToken(request: ReceivedRequest, world: ClusterWorld): Promise<Passthrough> {
  const parameters = parametersOf(request);
  const { device_code, grant_type } = parameters;
  const client_id = parameters.client_id ?? namedClient(request, parameters).id;
  if (client_id === undefined || device_code === undefined) {
    return oauthError("invalid_request", "client_id and device_code are needed");
  }
  const { store, cluster, clock, ids } = world;
  const { granted, refresh_token } = await store.transaction("identity.device-token", async (tx) => {
    const approval = await tx.get(deviceApprovals, device_code);
    if (approval) tx.delete(deviceApprovals, device_code);
    const approver = approval && (await userOfId(tx, cluster.id, approval.user_id));
    const user = approver ?? (await firstUser(tx, cluster.id));
    const granted = {
      client_id,
      user_id: user?.id ?? null,
      scope: defaultScope,
      signed_in_at: clock.now(),
      family: ids.token(16),
    };
    return { granted, refresh_token: await keepRefreshToken(tx, world, granted) };
  });
  const tokens = { ...(await issueTokens(world, granted)), refresh_token };
  const exchanged = grant_type === tokenExchange ? issuedType : {};
  return json(200, { ...tokens, ...exchanged }, uncached);
}
