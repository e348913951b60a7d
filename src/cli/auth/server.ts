import { trimTrailing } from "../../base/trailing.ts";
import type { Client } from "../../client/client.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../failure.ts";
import { parseBaseUrlFlag } from "../parse/globals.ts";
import { createOAuthError, type OAuthResponse, oauthGet, toNonEmptyString } from "./oauth-call.ts";

/** Where a device gets its codes and its tokens. */
export interface AuthServer {
  /** Under this address the tokens are kept. */
  readonly address: string;
  readonly deviceUrl: string;
  readonly tokenUrl: string;
  readonly refreshUrl: string;
  readonly revocationUrl: string | undefined;
  /** The routing service documents JSON for its device endpoints; RFC 8628 knows forms only. */
  readonly encoding: "json" | "form";
}

/** The address that names an account: --issuer, or the routing service that is meant. */
export async function resolveServerAddress(issuer: string | undefined, context: Context): Promise<string> {
  if (issuer !== undefined) return parseBaseUrlFlag(issuer, "--issuer");
  const { baseUrls } = await context.target("router");
  if (baseUrls.router !== undefined) return baseUrls.router;
  throw new CommandFailedError("usage", "usage", "No address of the routing service is configured.", {
    hint: "Set SVC_ROUTER_URL, choose a --profile, or use --issuer.",
  });
}

export async function authServer(issuer: string | undefined, client: Client, context: Context): Promise<AuthServer> {
  const address = await resolveServerAddress(issuer, context);
  if (issuer !== undefined) return discovered(address, client, context.signal);
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
 * Where an issuer publishes its metadata: OpenID Connect appends to the issuer (Discovery, 4), OAuth inserts before its
 * path (RFC 8414, 3 and 5). Some servers append there, too.
 */
function metadataUrls(issuer: string): ReadonlySet<string> {
  const { origin, pathname } = new URL(issuer);
  const inserted = (name: string) => `${origin}/.well-known/${name}${trimTrailing(pathname, "/")}`;
  const appended = (name: string) => `${issuer}/.well-known/${name}`;
  const [openid, oauth] = ["openid-configuration", "oauth-authorization-server"] as const;
  return new Set([appended(openid), inserted(oauth), inserted(openid), appended(oauth)]);
}

/** The endpoints that the first usable metadata document of an issuer names. */
async function discovered(issuer: string, client: Client, signal: AbortSignal): Promise<AuthServer> {
  const failures: CommandFailedError[] = [];
  for (const url of metadataUrls(issuer)) {
    const answer = await oauthGet(client, url, signal);
    try {
      return endpoints(issuer, answer);
    } catch (error) {
      if (!(error instanceof CommandFailedError)) throw error;
      failures.push(error);
    }
  }
  // A document says more than the lack of one.
  throw failures.find(({ code }) => code === "bad_metadata") ?? failures[0]!;
}

function endpoints(issuer: string, answer: OAuthResponse): AuthServer {
  const metadata = answer.fields;
  const broken = (what: string, code = "bad_metadata") =>
    new CommandFailedError("failed", code, `The metadata of ${issuer} ${what}.`, {
      hint: "Check that --issuer is exactly the issuer address of the server.",
    });
  if (answer.status !== 200) throw createOAuthError(`The request for the metadata of ${issuer}`, answer);
  const named = toNonEmptyString(metadata.issuer);
  if (named === undefined) throw broken("is not a JSON document with an issuer", "no_metadata");
  // RFC 8414, 3.3: another name means that somebody else's metadata was served.
  if (trimTrailing(named, "/") !== issuer) throw broken("has another issuer");
  const url = (name: string) => {
    const text = toNonEmptyString(metadata[name]);
    if (text === undefined) return undefined;
    const protocol = URL.canParse(text) ? new URL(text).protocol : undefined;
    if (protocol === "https:" || (protocol === "http:" && issuer.startsWith("http:"))) return text;
    throw broken(`has a ${name} that is not an ${issuer.startsWith("http:") ? "http" : "https"} URL`);
  };
  const deviceUrl = url("device_authorization_endpoint");
  const tokenUrl = url("token_endpoint");
  if (!deviceUrl || !tokenUrl)
    throw broken("has no device_authorization_endpoint. The server does not support device login");
  const revocationUrl = url("revocation_endpoint");
  return { address: issuer, deviceUrl, tokenUrl, refreshUrl: tokenUrl, revocationUrl, encoding: "form" };
}
