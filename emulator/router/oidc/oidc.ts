import { clusterClaim } from "../../../src/schemes/jwt-claims.ts";
import { reply } from "../../http/reply.ts";
import { askCluster } from "../proxied/ask-cluster.ts";
import { forwardTo } from "../proxied/forward.ts";
import { clusterOfPrefix } from "../resolve/named-cluster.ts";
import type { ForwardCall, RouterHandler, RouterHandlers } from "../world.ts";
import { discoveryOf } from "./discovery.ts";
import { publicKeys } from "./public-keys.ts";

const fresh = { "cache-control": "no-store" };

/** Asks every cluster anew; what one that is down would have said is left out (DECISIONS.md, P5). */
const showJwks: RouterHandler<"oidc.jwks"> = async (_, call) => {
  refuseLoop(call);
  const answers = await Promise.all(
    call.clusters.map(async (cluster) => ({ cluster, reply: await askCluster(call, cluster, call.request) })),
  );
  const answered = answers.flatMap(({ cluster, reply }) => {
    const keys = reply.kind === "answered" && reply.status === 200 ? reply.body?.keys : undefined;
    if (!Array.isArray(keys)) call.finding("keys-missing", `${cluster.id} gave no keys`);
    return Array.isArray(keys) ? [keys] : [];
  });
  if (answered.length === 0) return call.fail("no-cluster-reachable");
  return reply(200, { keys: publicKeys(answered.flat()) }, fresh);
};

/** The configuration of the first cluster, in the order of the seed, that gives one (DECISIONS.md, R35). */
const showDiscovery: RouterHandler<"oidc.discovery"> = async (_, call) => {
  refuseLoop(call);
  for (const cluster of call.clusters) {
    const found = await askCluster(call, cluster, call.request);
    if (found.kind === "answered" && found.status === 200 && found.body) {
      return reply(200, discoveryOf(found.body, cluster.url, call.settings.publicUrl), fresh);
    }
    call.finding("configuration-missing", `${cluster.id} gave no OpenID configuration`);
  }
  return call.fail("no-cluster-reachable");
};

function refuseLoop({ forwarder, request, fail }: ForwardCall): void {
  if (forwarder.isOwn(request)) fail("forwarding-loop");
}

/** Which parameter of a token request carries the prefix of its cluster. */
const prefixed = { authorization_code: "code", refresh_token: "refresh_token" } as const;

const exchangeToken: RouterHandler<"oidc.token"> = ({ body }, call) => {
  const { grant_type } = body;
  if (grant_type === undefined) return call.fail("invalid-request", { reason: "grant_type is missing" });
  if (!Object.hasOwn(prefixed, grant_type)) return call.fail("unsupported-grant-type");
  const name = prefixed[grant_type as keyof typeof prefixed];
  const value = body[name];
  if (value === undefined) return call.fail("invalid-request", { reason: `${name} is missing` });
  return forwardTo(call, [clusterOfPrefix(call.clusters, value) ?? call.fail("invalid-grant")]);
};

/** The token is decoded, not verified: that is the cluster's business (DECISIONS.md, R36). */
const showUserinfo: RouterHandler<"oidc.userinfo"> = (_, call) => {
  const [, token = ""] = /^bearer\s+(\S+)\s*$/i.exec(call.request.headers.authorization ?? "") ?? [];
  const prefix = clusterOfPrefix(call.clusters, token)?.id;
  const claim = clusterClaim(prefix === undefined ? token : token.slice(prefix.length + 1));
  const owner = call.clusters.find(({ id }) => id === claim) ?? call.fail("invalid-token");
  return forwardTo(call, [owner]);
};

export const oidcHandlers = {
  "oidc.jwks": showJwks,
  "oidc.discovery": showDiscovery,
  "oidc.token": exchangeToken,
  "oidc.userinfo": showUserinfo,
} satisfies RouterHandlers;
