import { hashEmail } from "../../src/base/email-address.ts";
import { parseBearerToken, readClusterClaim } from "../../src/schemes/http-authorization.ts";
import type { Cluster } from "../domain/clusters.ts";
import { findSession } from "../domain/session-cookie.ts";
import { findString, parseForm, parseJsonObject } from "../http/bodies/fields.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import type { View } from "../store/port.ts";
import type { RouterCall, RouterContext } from "./context.ts";
import { toUserCodeKey } from "./device/rows.ts";
import { buildIntegrationKey, type MappingTable, mappingTables, signatories } from "./mapping/tables.ts";

/**
 * Returns the clusters that own the first identifier with a known owner, or no clusters if no identifier is mapped.
 * Only a signatory can belong to several clusters (DECISIONS.md, R14).
 */
export function findOwners(
  { store, clusters }: Pick<RouterContext, "store" | "clusters">,
  identifiers: Iterable<OwnerIdentifier>,
): readonly Cluster[] {
  for (const identifier of identifiers) {
    const owners = findClusters(store, clusters, identifier);
    if (owners.length > 0) return owners;
  }
  return [];
}

/** Returns the clusters that own an identifier. */
export function findClusters(view: View, clusters: readonly Cluster[], { table, key }: OwnerIdentifier): Cluster[] {
  const select = (...ids: readonly (string | undefined)[]) => clusters.filter(({ id }) => ids.includes(id));
  if (table === "cluster") return select(key);
  if (table === "prefix") return select(findClusterByPrefix(clusters, key)?.id);
  if (table !== "signatories") return select(view.lookup(mappingTables[table], key));
  return select(...view.list(signatories, { by: "hash", equals: key }).map(({ cluster }) => cluster));
}

type RequestContents = Pick<ReceivedRequest, "headers" | "body"> & {
  readonly parsedTarget: Pick<ReceivedRequest["parsedTarget"], "search">;
};

/** A value in a request that can identify its owner, and the table that maps it. */
export interface OwnerIdentifier {
  /** `cluster` is the ID itself, and `prefix` a token that starts with it. `signatories` can have several. */
  readonly table: MappingTable | "cluster" | "prefix" | "signatories";
  readonly key: string;
}

/**
 * Yields all values in a request that can identify its owner, in order of precedence. The kinds determine the order.
 * Within a kind, the query precedes the top level of a JSON or form body, which precedes a header (DECISIONS.md, R14).
 */
export function* findIdentifiers(request: RequestContents, publicUrl: string): Generator<OwnerIdentifier> {
  const { headers } = request;
  const { readValues, readLists } = readRequestFields(request);
  const find = (
    table: OwnerIdentifier["table"],
    names: readonly string[],
    listNames: readonly string[] = [],
    toKey = (value: string) => value,
  ) => [...readValues(names), ...readLists(listNames)].map((value) => ({ table, key: toKey(value) }));

  yield* find("cluster", ["cluster_id", "x-cluster-id"]);
  const bearer = parseBearerToken(headers.authorization);
  if (bearer !== undefined) yield* findTokenOwners(bearer);
  for (const token of readValues(["id_token_hint"])) yield* findTokenOwners(token);
  if (headers["client-id"]) yield { table: "cluster_clients", key: headers["client-id"] };
  yield* find("cluster_clients", ["client_id"], ["client_ids"]);
  yield* find("cluster_emails", ["email_hash"], ["email_hash_list"]);
  yield* find("cluster_emails", ["svc_user", "email", "login_hint", "userEmail"], [], hashEmail);
  yield* find("user_codes", ["user_code"], ["user_codes"], toUserCodeKey);
  yield* find("creator_tokens", ["creator_token"], ["creator_tokens"]);
  yield* find("counterparty_tokens", ["counterparty_token", "cp_token"], ["cp_tokens"]);
  for (const token of [...readValues(["invite_token", "token"]), ...readLists(["tokens"])])
    yield* listInviteTokenIdentifiers(token);
  yield* find("chat_a_teams", ["chat_a_team_id", "team_id"], ["chat_a_team_id_list"]);
  const [type] = readValues(["integration_type"]);
  const toIntegrationKey = (id: string) => buildIntegrationKey(id, type);
  yield* find("external_integrations", ["external_id", "portalId"], ["external_id_list"], toIntegrationKey);
  yield* find("signatories", ["signatory_hash"]);
  // The session is last, because it belongs to an earlier sign-in, which can be at another cluster.
  const session = findSession(headers, publicUrl);
  if (session !== undefined) yield { table: "prefix", key: session };
}

/** Yields the identifier of a token of the form `{cluster_id}_…`, or of a JWT with the claim `cluster`. */
function* findTokenOwners(token: string): Generator<OwnerIdentifier> {
  yield { table: "prefix", key: token };
  const claim = readClusterClaim(token);
  if (claim !== undefined) yield { table: "cluster", key: claim };
}

/** Yields the identifiers of an invite token, which can belong to a creator or a counterparty. */
export function* listInviteTokenIdentifiers(token: string): Generator<OwnerIdentifier> {
  yield { table: "creator_tokens", key: token };
  yield { table: "counterparty_tokens", key: token };
}

/**
 * Returns functions that read all values of names in a request: in the query, then at the top level of the body, then
 * in a header. `readLists` reads lists of values, which are not in headers.
 */
function readRequestFields(request: RequestContents) {
  const { search } = request.parsedTarget;
  const query = search === "" ? undefined : new URLSearchParams(search);
  const form = parseForm(request);
  const object = form || request.body.length === 0 ? undefined : parseJsonObject(request.body);
  const dropEmpty = (values: readonly (string | undefined)[]) =>
    values.filter((value): value is string => value !== undefined && value !== "");
  return {
    readValues: (names: readonly string[]) =>
      dropEmpty(
        names.flatMap((name) => [
          query?.getAll(name).at(-1),
          form?.getAll(name).at(-1) ?? findString(object, name),
          request.headers[name] ?? request.headers[name.replaceAll("_", "-")],
        ]),
      ),
    readLists: (names: readonly string[]) =>
      dropEmpty(
        names.flatMap((name) => {
          const member = object?.[name];
          const members = Array.isArray(member) ? member.map((_, index) => findString(member, String(index))) : [];
          return [...(query?.getAll(name) ?? []), ...(form?.getAll(name) ?? []), ...members];
        }),
      ),
  };
}

/** Returns the cluster that a request names, after checking that the key belongs to it (DECISIONS.md, R6 and R7). */
export function requireCluster(
  { clusters, caller, fail }: RouterCall<"unknown-cluster" | "foreign-cluster-key">,
  id: string,
): Cluster {
  const cluster = clusters.find((candidate) => candidate.id === id) ?? fail("unknown-cluster", { cluster: id });
  if (caller !== undefined && caller !== id) fail("foreign-cluster-key", { cluster: id });
  return cluster;
}

/** Returns the cluster whose ID is the longest prefix of a value `{cluster_id}_{rest}` (DECISIONS.md, P6). */
export function findClusterByPrefix(clusters: readonly Cluster[], value: string): Cluster | undefined {
  return clusters
    .filter(({ id }) => value.startsWith(`${id}_`) && value.length > id.length + 1)
    .sort((a, b) => b.id.length - a.id.length)
    .at(0);
}
