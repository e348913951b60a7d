import { emailHash } from "../../../src/schemes/email-hash.ts";
import { clusterClaim } from "../../../src/schemes/jwt-claims.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { sessionIn } from "../../world/session-cookie.ts";
import { userCodeKey } from "../device/user-codes.ts";
import type { MappingTable } from "../mapping/tables.ts";
import { fieldsOf } from "./request-fields.ts";

/** One thing in a request that may tell whose it is, by the table that would know. */
export interface Identifier {
  /** `cluster`: the id itself. `prefix`: a token that begins with it. `signatories`: perhaps several clusters. */
  readonly table: MappingTable | "cluster" | "prefix" | "signatories";
  readonly key: string;
}

/** The service whose ids are meant where a request names none; the only one there is. */
const defaultIntegration = "CHAT_B";

/**
 * Everything in a request that may tell whose it is, in the order in which it decides: by kind, and for each kind in
 * the query, then at the top of a JSON or form body, then in a header (DECISIONS.md, R14).
 */
export function* identifiersOf(request: Pick<ReceivedRequest, "target" | "headers" | "body">): Generator<Identifier> {
  const { headers } = request;
  const values = fieldsOf(request);
  const named = function* (table: Identifier["table"], ...names: readonly string[]) {
    for (const name of names) for (const key of values(name)) yield { table, key };
  };

  yield* named("cluster", "cluster_id", "x-cluster-id");
  const [, bearer] = /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "") ?? [];
  if (bearer !== undefined) yield* ownersOfToken(bearer);
  for (const token of values("id_token_hint")) yield* ownersOfToken(token);
  if (headers["client-id"]) yield { table: "cluster_clients", key: headers["client-id"] };
  yield* named("cluster_clients", "client_id");
  yield* named("cluster_emails", "email_hash");
  for (const address of [...values("email"), ...values("login_hint")]) {
    yield { table: "cluster_emails", key: emailHash(address) };
  }
  for (const code of values("user_code")) yield { table: "user_codes", key: userCodeKey(code) };
  yield* named("creator_tokens", "creator_token");
  yield* named("counterparty_tokens", "cp_token");
  for (const token of values("token")) yield* inviteToken(token);
  yield* named("chat_a_teams", "team_id");
  const [integration = defaultIntegration] = values("integration_type");
  for (const id of values("external_id")) yield { table: "external_integrations", key: `${integration}:${id}` };
  yield* named("signatories", "signatory_hash");
  // Last: a session says where a person signed in before, which need not be where this request belongs.
  const session = sessionIn(headers);
  if (session !== undefined) yield { table: "prefix", key: session };
}

/** A token of the form `{cluster_id}_…`, or a JWT with the claim `cluster`. */
function* ownersOfToken(token: string): Generator<Identifier> {
  yield { table: "prefix", key: token };
  const claim = clusterClaim(token);
  if (claim !== undefined) yield { table: "cluster", key: claim };
}

/** An invite token of which nobody says whether it is a creator's or a counterparty's. */
export function* inviteToken(token: string): Generator<Identifier> {
  yield { table: "creator_tokens", key: token };
  yield { table: "counterparty_tokens", key: token };
}
