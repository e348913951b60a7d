import { withoutTrailing } from "../../base/trailing.ts";
import type { Client } from "../../client/client.ts";
import type { Context } from "../command.ts";
import { CommandFailed } from "../failure.ts";
import { checkedUrl } from "../parse/globals.ts";
import { oauthGet, refusal, textOf } from "./oauth-call.ts";

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
export async function accountAddress(issuer: string | undefined, context: Context): Promise<string> {
  if (issuer !== undefined) return checkedUrl(issuer, "--issuer");
  const { baseUrls } = await context.target("router");
  if (baseUrls.router !== undefined) return baseUrls.router;
  throw new CommandFailed("usage", "usage", "The address of the routing service is not known.", {
    hint: "Set SVC_ROUTER_URL, choose a --profile, or name an --issuer.",
  });
}

export async function authServer(issuer: string | undefined, client: Client, context: Context): Promise<AuthServer> {
  const address = await accountAddress(issuer, context);
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

const wellKnown = ["openid-configuration", "oauth-authorization-server"];

/** The endpoints that an issuer names in its metadata (OpenID Connect Discovery 4; RFC 8414, 3). */
async function discovered(issuer: string, client: Client, signal: AbortSignal): Promise<AuthServer> {
  const documents = [];
  for (const name of wellKnown) {
    const answer = await oauthGet(client, `${issuer}/.well-known/${name}`, signal);
    if (answer.status === 200) return endpoints(issuer, answer.fields);
    documents.push(answer);
  }
  throw refusal(`The metadata of ${issuer}`, documents[0]!);
}

function endpoints(issuer: string, metadata: Readonly<Record<string, unknown>>): AuthServer {
  const broken = (what: string) =>
    new CommandFailed("failed", "bad_metadata", `The metadata of ${issuer} ${what}.`, {
      hint: "Is --issuer the very address that the server calls its issuer?",
    });
  if (textOf(metadata.issuer) === undefined) throw broken("is no JSON document that names an issuer");
  // RFC 8414, 3.3: another name means that somebody else's metadata was served.
  if (withoutTrailing(textOf(metadata.issuer) ?? "", "/") !== issuer) throw broken("names another issuer");
  const url = (name: string) => {
    const text = textOf(metadata[name]);
    return text === undefined ? undefined : checkedUrl(text, `${name} of ${issuer}`);
  };
  const deviceUrl = url("device_authorization_endpoint");
  const tokenUrl = url("token_endpoint");
  if (!deviceUrl || !tokenUrl) throw broken("names no device_authorization_endpoint: it knows no device login");
  const revocationUrl = url("revocation_endpoint");
  return { address: issuer, deviceUrl, tokenUrl, refreshUrl: tokenUrl, revocationUrl, encoding: "form" };
}
