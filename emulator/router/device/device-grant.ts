import { oauthClients } from "../../domain/client-credentials.ts";
import { noStoreHeaders, reply } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import { maxUnauthenticatedRows } from "../../store/rows.ts";
import type { RouterContext, RouterHandler, RouterHandlers } from "../context.ts";
import { requireCluster } from "../resolve/resolve.ts";
import { decideGrant, deviceGrants, findGrantByUserCode, formatUserCode, purgeGrants } from "./rows.ts";
import { redeemDeviceCode } from "./token.ts";

const deviceCodeLifetimeSeconds = 900;
const minPollIntervalSeconds = 5;

/** The alphabet has no vowels, so that codes are not words, and no ambiguous characters (RFC 8628, 6.1). */
const userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ";

const createDeviceCode: RouterHandler<"device-grant.code"> = async ({ body }, call) => {
  const { store, clock, ids, settings, fail } = call;
  const grant = await store.transaction("device-grant.code", async (tx) => {
    if (!(await tx.get(oauthClients, body.client_id))) return fail("invalid-client");
    await purgeGrants(tx, clock.now());
    const row = {
      device_code: ids.token(32),
      user_code: await generateUserCode(tx, ids),
      client_id: body.client_id,
      status: "PENDING" as const,
      cluster_id: null,
      expires_at: clock.now() + deviceCodeLifetimeSeconds * 1_000,
      interval: minPollIntervalSeconds,
      last_poll: null,
      claimed: false,
      redeemed: false,
    };
    tx.put(deviceGrants, row);
    return row;
  });
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
};

async function generateUserCode(tx: Transaction, ids: RouterContext["ids"]): Promise<string> {
  for (;;) {
    const code = ids.pick(userCodeAlphabet, 8);
    if (!(await findGrantByUserCode(tx, code))) return code;
  }
}

/** Maximum number of characters (DECISIONS.md, E11). */
const maxClientNameLength = 1_000;

/** See DECISIONS.md, R31. */
const createOAuthClient: RouterHandler<"device-grant.create-client"> = async ({ body }, { store, ids, fail }) => {
  if (body.client_name.length > maxClientNameLength) return fail("client-name-too-long");
  const client = { client_id: `cli_${ids.token(12)}`, client_name: body.client_name };
  await store.transaction("device-grant.create-client", async (tx) => {
    // The oldest client can be in use, so no client is deleted.
    if ((await tx.count(oauthClients)) >= maxUnauthenticatedRows) return fail("too-many-clients");
    return tx.put(oauthClients, { ...client, client_secret: null, redirect_uris: [] });
  });
  return client;
};

const decisionErrorCodes = {
  unknown: "unknown-user-code",
  expired: "expired-user-code",
  decided: "already-decided",
  bound: "grant-bound",
} as const;

const decideDeviceGrant: RouterHandler<"device-grant.decide"> = async ({ body }, call) => {
  const { store, clock, fail } = call;
  requireCluster(call, body.cluster_id);
  await store.transaction("device-grant.decide", async (tx) => {
    const result = await decideGrant(tx, clock.now(), body.user_code, body);
    if (typeof result === "string") fail(decisionErrorCodes[result]);
  });
  return body;
};

export const deviceGrantHandlers = {
  "device-grant.code": createDeviceCode,
  "device-grant.poll": redeemDeviceCode,
  "device-grant.create-client": createOAuthClient,
  "device-grant.decide": decideDeviceGrant,
} satisfies RouterHandlers;
