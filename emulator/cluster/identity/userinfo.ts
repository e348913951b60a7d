import { oauthFailures } from "../../../src/api/router/failures/oauth.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { json } from "../answer.ts";
import { parametersOf } from "../parameters.ts";
import type { ClusterWorld } from "../world.ts";
import { userOfId } from "./people.ts";
import { claimsOf } from "./scopes.ts";
import { verifiedAccess } from "./tokens.ts";

/** Who the user of an access token is (OpenID Connect Core, 5.3). The token may carry the prefix of its cluster. */
export async function userinfo(request: ReceivedRequest, world: ClusterWorld): Promise<Passthrough> {
  const given = accessTokenOf(request);
  if (given === "twice") return sentTwice();
  if (given === undefined) return refused("no-access-token");
  const prefix = `${world.cluster.id}_`;
  const claims = await verifiedAccess(world, given.startsWith(prefix) ? given.slice(prefix.length) : given);
  if (!claims) return refused("refused-token");

  const { sub = "", client_id, scope } = claims;
  const own = { cluster: world.cluster.id };
  // The client acts for itself.
  if (sub === client_id) return json(200, { sub, ...own });
  const user = await world.store.read((view) => userOfId(view, world.cluster.id, Number(sub)));
  return user ? json(200, { sub, ...claimsOf(user, String(scope)), ...own }) : refused("refused-token");
}

/** In the header, or in the form of a POST (RFC 6750, 2.1 and 2.2): a URL with a token would end up in many a log. */
function accessTokenOf(request: ReceivedRequest): string | "twice" | undefined {
  const [, bearer] = /^bearer\s+(\S.*)$/i.exec(request.headers.authorization ?? "") ?? [];
  const { access_token } = request.method === "POST" ? parametersOf(request) : {};
  return bearer !== undefined && access_token !== undefined ? "twice" : (bearer ?? access_token);
}

/** RFC 6750, 3.1 */
const sentTwice = (): Passthrough =>
  json(
    400,
    { error: "invalid_request", error_description: "The access token is given both in the header and in the form" },
    { "www-authenticate": 'Bearer error="invalid_request"' },
  );

function refused(code: "no-access-token" | "refused-token"): Passthrough {
  const { status, body, headers } = oauthFailures[code];
  return json(status, body(), headers?.());
}
