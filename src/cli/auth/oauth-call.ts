import { omitUndefined, toFields, tryParseJson } from "../../base/object.ts";
import { toNonEmptyString, trimTrailing } from "../../base/text.ts";
import type { Client } from "../../client/client.ts";
import { readBodyText } from "../../client/response.ts";
import type { Context } from "../command.ts";
import { openClient } from "../connection/http.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import { CommandFailedError } from "../process/failure.ts";

/** `fields` are the members of the JSON object in the body. They are empty for any other body. */
export type OAuthResponse = Awaited<ReturnType<typeof readOAuthResponse>>;

/** The client accepts any address. */
export const createOAuthClient = (context: Context): Promise<Client> =>
  openClient(context, { baseUrls: {}, credentials: {} });

/** Posts fields once, without retries. Throws NetworkError. Rejections are returned as responses. */
export async function postOAuth(
  client: Client,
  url: string,
  encoding: "json" | "form",
  fields: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<OAuthResponse> {
  const definedFields = omitUndefined(fields);
  const [type, body] =
    encoding === "json"
      ? ["application/json", JSON.stringify(definedFields)]
      : ["application/x-www-form-urlencoded", String(new URLSearchParams(definedFields))];
  const headers = { "content-type": type, accept: "application/json" };
  return readOAuthResponse(await client.exchange({ method: "POST", url, headers, body }, { signal, retries: 0 }));
}

async function readOAuthResponse({ status, headers, body }: Awaited<ReturnType<Client["exchange"]>>) {
  const fields = toFields(tryParseJson(await readBodyText(body)));
  // Servers return `error` (RFC 6749, 5.2) with any status (DECISIONS.md, P1).
  return { status, headers, fields, error: toNonEmptyString(fields.error) };
}

/** One hundred years. A longer lifetime is useless and can exceed the range of a date. */
const maxSeconds = 100 * 365 * 24 * 60 * 60;

/** Parses a number of seconds, also from a string. Returns undefined for a negative number. */
export function toSeconds(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number >= 0 ? Math.min(number, maxSeconds) : undefined;
}

/** Returns the error of an endpoint in its own words, reduced to printable characters. */
export function createOAuthError(action: string, { status, fields, error }: OAuthResponse): CommandFailedError {
  const reason = toNonEmptyString(fields.error_description) ?? error ?? `status ${status}`;
  const clean = reason.replace(/[^\x20-\x7e]/g, " ").slice(0, 300);
  const isTemporaryFailure = status >= 500 || status === 429;
  const isUnknown = error === "invalid_client" || status === 401 || status === 403;
  const hint = isTemporaryFailure
    ? "The server has a problem. Try again later."
    : isUnknown
      ? "Check --client-id. To create a client, run svc auth create-client."
      : "Check that the address belongs to the routing service or to an OAuth server.";
  return new CommandFailedError(
    isTemporaryFailure ? "temporary" : error === undefined && !isUnknown ? "failed" : "forbidden",
    error ?? `http_${status}`,
    `${action} failed (HTTP ${status}): ${clean}`,
    { hint },
  );
}

export interface AuthServer {
  /** Address under which the tokens are stored. */
  readonly address: string;
  readonly deviceUrl: string;
  readonly tokenUrl: string;
  readonly refreshUrl: string;
  readonly revocationUrl: string | undefined;
  /** The routing service documents JSON for its device endpoints, and RFC 8628 only forms. */
  readonly encoding: "json" | "form";
}

/** Returns the address that identifies an account: --issuer or the target's routing service. */
export async function resolveServerAddress(issuer: string | undefined, context: Context): Promise<string> {
  if (issuer !== undefined) return parseBaseUrlFlag(issuer, "--issuer");
  const { baseUrls } = await context.target("router");
  if (baseUrls.router !== undefined) return baseUrls.router;
  throw new CommandFailedError("usage", "usage", "No address of the routing service is configured.", {
    hint: "Set SVC_ROUTER_URL, choose a --profile, or use --issuer.",
  });
}

export async function findAuthServer(
  issuer: string | undefined,
  client: Client,
  context: Context,
): Promise<AuthServer> {
  const address = await resolveServerAddress(issuer, context);
  if (issuer !== undefined) return discoverEndpoints(address, client, context.signal);
  const [{ createDeviceCode, redeemDeviceCode }, { exchangeToken }] = await Promise.all([
    import("../../api/router/device-grant.ts"),
    import("../../api/router/oidc.ts"),
  ]);
  return {
    address,
    deviceUrl: address + createDeviceCode.path,
    tokenUrl: address + redeemDeviceCode.path,
    refreshUrl: address + exchangeToken.path,
    revocationUrl: undefined,
    encoding: "json",
  };
}

/**
 * Returns the metadata URLs of an issuer. OpenID Connect appends a path to the issuer (Discovery, 4). OAuth inserts one
 * before the issuer's path (RFC 8414, 3 and 5), but some OAuth servers append it.
 */
function getMetadataUrls(issuer: string): ReadonlySet<string> {
  const { origin, pathname } = new URL(issuer);
  const insertWellKnown = (name: string) => `${origin}/.well-known/${name}${trimTrailing(pathname, "/")}`;
  const appendWellKnown = (name: string) => `${issuer}/.well-known/${name}`;
  const [openid, oauth] = ["openid-configuration", "oauth-authorization-server"] as const;
  return new Set([appendWellKnown(openid), insertWellKnown(oauth), insertWellKnown(openid), appendWellKnown(oauth)]);
}

async function discoverEndpoints(issuer: string, client: Client, signal: AbortSignal): Promise<AuthServer> {
  const failures: CommandFailedError[] = [];
  for (const url of getMetadataUrls(issuer)) {
    const headers = { accept: "application/json" };
    const response = await client
      .exchange({ method: "GET", url, headers, body: undefined }, { signal })
      .then(readOAuthResponse);
    try {
      return parseEndpoints(issuer, response);
    } catch (error) {
      if (!(error instanceof CommandFailedError)) throw error;
      failures.push(error);
    }
  }
  // A rejected document explains more than a missing one.
  throw failures.find(({ code }) => code === "bad_metadata") ?? failures[0]!;
}

function parseEndpoints(issuer: string, response: OAuthResponse): AuthServer {
  const metadata = response.fields;
  const createMetadataError = (problem: string, code = "bad_metadata") =>
    new CommandFailedError("failed", code, `The metadata of ${issuer} ${problem}.`, {
      hint: "Check that --issuer is exactly the issuer address of the server.",
    });
  if (response.status !== 200) throw createOAuthError(`The request for the metadata of ${issuer}`, response);
  const issuerClaim = toNonEmptyString(metadata.issuer);
  if (issuerClaim === undefined) throw createMetadataError("is not a JSON document with an issuer", "no_metadata");
  // Metadata with a different name belongs to another server (RFC 8414, 3.3).
  if (trimTrailing(issuerClaim, "/") !== issuer) throw createMetadataError("has another issuer");
  const readUrl = (name: string) => {
    const text = toNonEmptyString(metadata[name]);
    if (text === undefined) return undefined;
    const protocol = URL.canParse(text) ? new URL(text).protocol : undefined;
    if (protocol === "https:" || (protocol === "http:" && issuer.startsWith("http:"))) return text;
    throw createMetadataError(`has a ${name} that is not an ${issuer.startsWith("http:") ? "http" : "https"} URL`);
  };
  const deviceUrl = readUrl("device_authorization_endpoint");
  const tokenUrl = readUrl("token_endpoint");
  if (!deviceUrl || !tokenUrl)
    throw createMetadataError("has no device_authorization_endpoint. The server does not support device login");
  const revocationUrl = readUrl("revocation_endpoint");
  return { address: issuer, deviceUrl, tokenUrl, refreshUrl: tokenUrl, revocationUrl, encoding: "form" };
}
