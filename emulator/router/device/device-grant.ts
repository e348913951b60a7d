import type * as z from "zod";
import { TokenResponse } from "../../../src/api/router/device-grant.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { authenticateClient, oauthClients } from "../../domain/client-credentials.ts";
import { parseForm, parseJsonObject } from "../../http/bodies/fields.ts";
import { inTransaction } from "../../http/handler.ts";
import { type ForwardableRequest, replaceParts } from "../../http/outgoing/forward.ts";
import { noStoreHeaders, reply } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import { maxUnauthenticatedRows } from "../../store/rows.ts";
import type { RouterCall, RouterContext, RouterHandlers } from "../context.ts";
import { filterCredentials } from "../proxied/forward.ts";
import { type ClusterResponse, requestCluster } from "../proxied/request-cluster.ts";
import { requireCluster } from "../resolve.ts";
import {
  type DeviceGrant,
  decideGrant,
  deviceGrants,
  findGrantByUserCode,
  formatUserCode,
  purgeGrants,
} from "./rows.ts";

const deviceCodeLifetimeSeconds = 900;
const minPollIntervalSeconds = 5;

/** The alphabet has no vowels, so that codes are not words, and no ambiguous characters (RFC 8628, 6.1). */
const userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ";

export const deviceGrantHandlers = {
  "device-grant.code": inTransaction((tx, { body }, { clock, ids, settings, fail }) => {
    if (!tx.get(oauthClients, body.client_id)) return fail("invalid-client");
    purgeGrants(tx, clock.now());
    const grant = {
      device_code: ids.token(32),
      user_code: generateUserCode(tx, ids),
      client_id: body.client_id,
      status: "PENDING" as const,
      cluster_id: null,
      expires_at: clock.now() + deviceCodeLifetimeSeconds * 1_000,
      interval: minPollIntervalSeconds,
      last_poll: null,
      claimed: false,
      redeemed: false,
    };
    tx.put(deviceGrants, grant);
    const userCode = formatUserCode(grant.user_code);
    const verification = `${settings.publicUrl}/_emulator/device`;
    const codes = {
      device_code: grant.device_code,
      user_code: userCode,
      verification_uri: verification,
      verification_uri_complete: `${verification}?user_code=${userCode}`,
      expires_in: deviceCodeLifetimeSeconds,
      interval: minPollIntervalSeconds,
    };
    // Anyone with the device code can get the tokens, so the response must not be cached (RFC 8628, 3.2).
    return reply(200, codes, noStoreHeaders);
  }),

  "device-grant.poll": async ({ body }, call) => {
    const client = call.store.get(oauthClients, body.client_id);
    if (!client) return call.fail("invalid-client");
    if (client.client_secret !== null) reportMissingSecret(call, client.client_id);
    const tokens = await issueDeviceTokens(call, body.device_code, client.client_id, call.request);
    return reply(200, tokens, noStoreHeaders);
  },

  /** See DECISIONS.md, R31. */
  "device-grant.create-client": inTransaction((tx, { body }, { ids, fail }) => {
    if (body.client_name.length > maxClientNameLength) return fail("client-name-too-long");
    // The oldest client can be in use, so no client is deleted.
    if (tx.count(oauthClients) >= maxUnauthenticatedRows) return fail("too-many-clients");
    const client = { client_id: `cli_${ids.token(12)}`, client_name: body.client_name };
    tx.put(oauthClients, { ...client, client_secret: null, redirect_uris: [] });
    return client;
  }),

  "device-grant.decide": inTransaction((tx, { body }, call) => {
    requireCluster(call, body.cluster_id);
    const result = decideGrant(tx, call.clock.now(), body.user_code, body);
    if (typeof result === "string") call.fail(decisionErrorCodes[result]);
    return body;
  }),
} satisfies RouterHandlers;

function generateUserCode(tx: Transaction, ids: RouterContext["ids"]): string {
  for (;;) {
    const code = ids.pick(userCodeAlphabet, 8);
    if (!findGrantByUserCode(tx, code)) return code;
  }
}

/** Maximum number of characters (DECISIONS.md, E11). */
const maxClientNameLength = 1_000;

const decisionErrorCodes = {
  unknown: "unknown-user-code",
  expired: "expired-user-code",
  decided: "already-decided",
  bound: "grant-bound",
} as const;

type Tokens = z.infer<typeof TokenResponse>;
type PollError = "authorization-pending" | "slow-down" | "access-denied" | "expired-token" | "invalid-grant";
type TokenOutcome = { readonly tokens: Tokens } | { readonly rejection: PollError | "token-cluster-down" };

/** Reports a missing client secret (RFC 6749, 3.2.1), for which AccessTokenGetRequest has no field. */
function reportMissingSecret({ request, store, finding }: RouterCall, client_id: string): void {
  const fields = parseForm(request) ?? new Map(Object.entries(parseJsonObject(request.body) ?? {}));
  const client_secret = fields.get("client_secret") ?? undefined;
  const parameters = { client_id, client_secret: client_secret === undefined ? undefined : String(client_secret) };
  const client = authenticateClient(store, request, parameters);
  if (typeof client === "string") finding("client-unproven", `${client_id} has a secret, but did not authenticate`);
}

/**
 * Returns the tokens of a device grant, or rejects the poll. The first poll after AUTHORIZED is forwarded to the
 * cluster outside of transactions, while the grant is claimed. If the cluster is down, the code stays valid
 * (DECISIONS.md, R30).
 */
export async function issueDeviceTokens(
  call: RouterCall<PollError | "token-cluster-down">,
  deviceCode: string,
  clientId: string,
  request: ForwardableRequest,
): Promise<Tokens> {
  const poll = await pollGrant(call, deviceCode, clientId);
  if (poll.kind === "refused") return call.fail(poll.code);

  const outcome = await requestTokens(call, poll.grant, request);
  await call.store.transaction("device-grant.poll: end of the claim", (tx) => {
    // The state can have been replaced during the request to the cluster.
    const row = tx.get(deviceGrants, deviceCode);
    if (row) tx.put(deviceGrants, { ...row, claimed: false, redeemed: "tokens" in outcome });
  });
  return "rejection" in outcome ? call.fail(outcome.rejection) : outcome.tokens;
}

function pollGrant(call: RouterCall, deviceCode: string, clientId: string): Promise<PollResult> {
  const { store, clock, wall, settings } = call;
  return store.transaction("device-grant.poll", (tx) => {
    const at = clock.now();
    // With wall-clock time, two equal runs would differ.
    const wall_at = settings.deterministic ? at : Math.floor(wall.now());
    const poll = checkPoll(tx.get(deviceGrants, deviceCode), clientId, { at, wall_at });
    if (poll.grant) tx.put(deviceGrants, poll.grant);
    return poll;
  });
}

async function requestTokens(call: RouterCall, grant: DeviceGrant, request: ForwardableRequest): Promise<TokenOutcome> {
  const cluster = call.clusters.find(({ id }) => id === grant.cluster_id);
  if (!cluster) return { rejection: "token-cluster-down" };
  const clusterRequest = replaceParts(filterCredentials(call, cluster), { target: request.target });
  return toTokenOutcome(call, cluster.id, await requestCluster(call, cluster, clusterRequest));
}

/** Errors of the cluster for the client. With any other rejection, the code is invalid. */
const clusterErrors = lookupTable<PollError>({
  authorization_pending: "authorization-pending",
  slow_down: "authorization-pending",
  access_denied: "access-denied",
  expired_token: "expired-token",
});

function toTokenOutcome({ finding }: RouterCall, cluster: string, reply: ClusterResponse): TokenOutcome {
  if (reply.kind === "answered" && reply.status === 200) {
    const { tokens, dropped: droppedNames } = readTokens(reply.body ?? {});
    const names = droppedNames.join(", ");
    if (droppedNames.length > 0)
      finding("token-response", `members of ${cluster} that do not conform to RFC 6749, 5.1: ${names}`);
    return tokens ? { tokens } : { rejection: "token-cluster-down" };
  }
  if (reply.kind === "answered" && reply.status >= 400 && reply.status < 500) {
    finding("tokens-refused", `${cluster} responded ${reply.status} ${String(reply.body?.error ?? "")}`);
    return { rejection: clusterErrors[String(reply.body?.error)] ?? "invalid-grant" };
  }
  const reason =
    reply.kind === "answered" ? `responded ${reply.status}` : reply.kind === "late" ? "is late" : reply.reason;
  finding("cluster-unreachable", `${cluster}: ${reason}`);
  return { rejection: "token-cluster-down" };
}

/**
 * Returns the tokens in a response. Invalid fields are dropped, because the cluster has issued the tokens and will not
 * issue them again. Some clients require `scope`, which a cluster can omit (RFC 6749, 5.1; DECISIONS.md, R30).
 */
function readTokens(body: Readonly<Record<string, unknown>>) {
  const issues = TokenResponse.safeParse({ scope: "", ...body }).error?.issues ?? [];
  const droppedNames = [...new Set(issues.map(({ path }) => String(path[0])))];
  const validEntries = Object.entries(body).filter(([name]) => !droppedNames.includes(name));
  return {
    tokens: TokenResponse.safeParse({ scope: "", ...Object.fromEntries(validEntries) }).data,
    dropped: droppedNames,
  };
}

/** Seconds that an early poll adds to the interval (RFC 8628, 3.5). */
const slowDownSeconds = 5;

type PollTime = NonNullable<DeviceGrant["last_poll"]>;

/** Result of a poll: an error, or a request to the cluster. `grant` is the row to store. */
type PollResult =
  | { readonly kind: "refused"; readonly code: PollError; readonly grant?: DeviceGrant }
  | { readonly kind: "authorized"; readonly grant: DeviceGrant };

/** Checks a poll in the order of DECISIONS.md, P2. A poll during a request to the cluster must wait. */
export function checkPoll(grant: DeviceGrant | undefined, clientId: string, time: PollTime): PollResult {
  if (!grant || grant.client_id !== clientId || grant.redeemed) return { kind: "refused", code: "invalid-grant" };
  if (grant.expires_at <= time.at) return { kind: "refused", code: "expired-token" };

  const polledGrant = { ...grant, last_poll: time };
  if (isEarly(grant, time)) {
    return {
      kind: "refused",
      code: "slow-down",
      grant: { ...polledGrant, interval: grant.interval + slowDownSeconds },
    };
  }
  if (grant.status === "DENIED") return { kind: "refused", code: "access-denied", grant: polledGrant };
  if (grant.status === "PENDING" || grant.claimed) {
    return { kind: "refused", code: "authorization-pending", grant: polledGrant };
  }
  return { kind: "authorized", grant: { ...polledGrant, claimed: true } };
}

/**
 * Returns whether the interval since the last poll has not passed. The clock that advanced more counts, because clients
 * sleep in wall-clock time while virtual time can stop (DECISIONS.md, P3).
 */
function isEarly({ last_poll, interval }: DeviceGrant, { at, wall_at }: PollTime): boolean {
  if (!last_poll) return false;
  const elapsedMs = Math.max(at - last_poll.at, wall_at - last_poll.wall_at);
  const intervalMs = interval * 1_000;
  // Timers of clients fire slightly early.
  return elapsedMs < intervalMs - Math.max(100, intervalMs * 0.05);
}
