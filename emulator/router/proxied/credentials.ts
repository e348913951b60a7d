import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { parseBearerToken } from "../../../src/schemes/http-authorization.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { type ForwardableRequest, withoutHeaders } from "../../http/outgoing/forward.ts";
import type { RouterCall } from "../context.ts";
import { mappingTables } from "../mapping/tables.ts";

type CredentialContext = Pick<RouterCall, "request" | "store" | "clusters" | "hideControlTokens" | "finding">;

/**
 * The request for one cluster or for several: without keys of other clusters, without the API key of a workspace of
 * another cluster, and without tokens of the control plane. If it goes to several, no credential is known to belong to
 * one of them (DECISIONS.md, R14).
 */
export async function withOwnCredentials(
  call: CredentialContext,
  to: Cluster | "several",
): Promise<ForwardableRequest> {
  const { request } = call;
  const { authorization, "client-id": clientId, "client-secret": clientSecret } = request.headers;
  const key = request.headers["x-cluster-key"];
  const omitted: string[] = [];
  if (key !== undefined && !isKeyOf(key, to)) omitted.push("x-cluster-key");
  if ((clientId ?? clientSecret) !== undefined && !(await mayHaveClient(call, clientId, to)))
    omitted.push("client-id", "client-secret");
  if (authorization !== undefined && !mayHaveAuthorization(call, authorization, to)) omitted.push("authorization");
  if (omitted.length === 0) return request;
  const given = omitted.filter((name) => request.headers[name] !== undefined);
  call.finding("credentials-omitted", `${given.join(", ")}: not for ${to === "several" ? "several clusters" : to.id}`);
  return withoutHeaders(request, omitted);
}

const isKeyOf = (key: string, to: Cluster | "several"): boolean =>
  to !== "several" && isEqualInConstantTime(key, to.key);

/** A client without a mapping may belong to the cluster that the request names in another way. */
async function mayHaveClient({ store }: CredentialContext, clientId = "", to: Cluster | "several"): Promise<boolean> {
  if (to === "several") return false;
  const owner = await store.read((view) => view.lookup(mappingTables.cluster_clients, clientId));
  return owner === undefined || owner === to.id;
}

/**
 * Team operations of chat_a accept the key of a cluster as a bearer token, so it may appear there in other requests.
 */
function mayHaveAuthorization(
  { clusters, hideControlTokens }: CredentialContext,
  authorization: string,
  to: Cluster | "several",
): boolean {
  if (hideControlTokens(authorization) !== authorization) return false;
  const token = parseBearerToken(authorization) ?? "";
  return isKeyOf(token, to) || !clusters.some(({ key }) => isEqualInConstantTime(token, key));
}
