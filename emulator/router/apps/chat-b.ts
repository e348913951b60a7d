import { errors, importJWK, type JWTPayload, jwtVerify } from "jose";
import { createInvalidVerdict, type Verdict, validVerdict } from "../../../src/schemes/verdict.ts";
import { type ConnectedApps, type IssuerKey, listPublicChatBKeys, readConnectedApps } from "../../domain/apps.ts";
import { findString, parseJsonObject } from "../../http/bodies/fields.ts";
import type { RouterContext, RouterHandlers } from "../context.ts";
import { buildIntegrationKey } from "../mapping/tables.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { findOwners, type OwnerIdentifier } from "../resolve.ts";

export const chatBHandlers = {
  /** The token must be verified before the body is trusted (DECISIONS.md, R22). */
  "chat-b.messaging": async (_, call) => {
    const { chat_b: app } = readConnectedApps(call.store);
    const activity = parseJsonObject(call.request.body);
    const verdict = await verifyChatBToken({
      authorization: call.request.headers.authorization,
      activity,
      app,
      nowMs: call.wall.now(),
      findKey: (kid) => findPublishedKey(call, app.openid_metadata_url, kid),
    });
    if (!verdict.ok) {
      call.finding("chat-b-token-refused", verdict.reason);
      return call.fail("bad-chat-b-token");
    }
    if (!activity) return call.fail("not-an-activity");
    const [owner] = findOwners(call, listTenants(activity));
    return owner ? forwardToOne(call, owner) : call.fail("no-chat-b-mapping");
  },
} satisfies RouterHandlers;

/** Finds a key of the issuer in the seed, or of the emulator's own issuer. */
async function findPublishedKey(
  { store, issuerKeys }: Pick<RouterContext, "store" | "issuerKeys">,
  metadataUrl: string | null,
  kid: string,
): Promise<IssuerKey | undefined> {
  if (metadataUrl !== null) return issuerKeys.find(metadataUrl, kid);
  return listPublicChatBKeys(store).find((key) => key.kid === kid);
}

/** Lists the values of an activity that can contain its tenant, in order of precedence. */
function listTenants(activity: Readonly<Record<string, unknown>>): OwnerIdentifier[] {
  const tenants = [
    findString(activity, "channelData", "tenant", "id"),
    findString(activity, "conversation", "tenantId"),
  ];
  return tenants.flatMap((id) =>
    id === undefined ? [] : [{ table: "external_integrations", key: buildIntegrationKey(id) }],
  );
}

/** Maximum clock skew (DECISIONS.md, P11). */
const maxClockSkewSeconds = 5 * 60;
const algorithms = ["RS256", "RS384", "RS512"];

/** Tenants for which the vendor's desktop emulator requests tokens. */
const emulatorTenants = ["d6d49420-f39b-4df7-a1dc-d59a935871db", "f8cdef31-a31e-4b4a-93e4-5f571e91255a"];

/** Returns whether a token is of the desktop emulator, whose tenant may also be that of a single-tenant app. */
const isEmulatorToken = ({ iss, tid }: JWTPayload): boolean =>
  [...emulatorTenants, tid].some(
    (tenant) =>
      iss === `https://sts.windows.net/${tenant}/` || iss === `https://login.microsoftonline.com/${tenant}/v2.0`,
  );

interface TokenCheck {
  readonly authorization: string | undefined;
  /** Undefined if the body is not an activity. */
  readonly activity: Readonly<Record<string, unknown>> | undefined;
  readonly app: Pick<ConnectedApps["chat_b"], "app_id" | "issuer">;
  /** Wall-clock time, which real issuers use in their tokens (DECISIONS.md, P24). */
  readonly nowMs: number;
  findKey(kid: string): Promise<IssuerKey | undefined>;
}

/**
 * Authenticates an incoming activity of the bot framework (DECISIONS.md, P11). The token must be signed with a
 * published key, be valid at this time, have the expected issuer and audience, and belong to this activity. The reason
 * of a rejection is for the request log.
 */
async function verifyChatBToken(check: TokenCheck): Promise<Verdict<string>> {
  // The vendor's own library is case-sensitive and rejects `bearer`.
  const [, token] = /^Bearer (\S+)$/.exec(check.authorization ?? "") ?? [];
  if (token === undefined) return createInvalidVerdict("no bearer token");
  const signature = await checkSignature(token, check);
  if (!signature.ok) return signature;
  const { key, claims } = signature;
  const { activity } = check;

  const endorsements = Array.isArray(key.endorsements) ? key.endorsements : [];
  if (activity && endorsements.length > 0 && !endorsements.includes(findString(activity, "channelId"))) {
    return createInvalidVerdict("the key is not endorsed for the activity's channelId");
  }
  if (isEmulatorToken(claims) && claims.iss !== check.app.issuer) return checkEmulatorClaims(claims, check);
  if (claims.iss !== check.app.issuer) return createInvalidVerdict("another issuer");
  if (![claims.aud].flat().includes(check.app.app_id)) return createInvalidVerdict("for another app");
  const serviceUrl = findString(activity, "serviceUrl");
  return serviceUrl === undefined || claims.serviceurl === serviceUrl
    ? validVerdict
    : createInvalidVerdict("serviceurl is not the activity's serviceUrl");
}

/** A token of the desktop emulator names the app by the token's version, and has no serviceurl. */
function checkEmulatorClaims(claims: JWTPayload, { app }: TokenCheck): Verdict<string> {
  const requester = claims.ver === "2.0" ? claims.azp : claims.appid;
  return requester === app.app_id ? validVerdict : createInvalidVerdict("for another app");
}

async function checkSignature(token: string, { nowMs, findKey }: TokenCheck) {
  let key: IssuerKey | undefined;
  try {
    const { payload: claims } = await jwtVerify(
      token,
      async ({ alg, kid }) => {
        key = kid === undefined ? undefined : await findKey(kid);
        if (!key) throw new errors.JWKSNoMatchingKey("no published key has the token's kid");
        return importJWK({ ...key, alg });
      },
      { algorithms, clockTolerance: maxClockSkewSeconds, currentDate: new Date(nowMs) },
    );
    return { ...validVerdict, key: key!, claims };
  } catch (error) {
    return createInvalidVerdict(error instanceof errors.JOSEError ? error.message : "the published key is not usable");
  }
}
