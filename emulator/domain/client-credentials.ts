import * as z from "zod";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { tryDecodeUrlPart } from "../../src/base/urls.ts";
import { parseBasic } from "../../src/schemes/http-authorization.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import { defineRows, type View } from "../store/port.ts";

interface ClientParameters {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

/** Reads the client of a token request from HTTP basic authentication or from parameters (RFC 6749, 2.3.1). */
export function readClientCredentials(
  { headers }: Pick<ReceivedRequest, "headers">,
  { client_id, client_secret = "" }: ClientParameters,
): { readonly id: string | undefined; readonly secret: string; readonly usesBasicAuth: boolean } {
  const basic = parseBasic(headers.authorization);
  if (!basic) return { id: client_id, secret: client_secret, usesBasicAuth: false };
  return { id: decodeForm(basic.user), secret: decodeForm(basic.password), usesBasicAuth: true };
}

/** Error message for client credentials in both the header and the parameters (RFC 6749, 2.3 and 5.2). */
export const duplicateClientAuthMessage =
  "The client authenticates both by HTTP basic and by parameters, or sends two client IDs";

/** Returns `unnamed` without a client ID, `twice` with two, and `unproven` for an unknown client or a wrong secret. */
export function authenticateClient(
  view: View,
  request: Pick<ReceivedRequest, "headers">,
  parameters: ClientParameters,
): OAuthClient | "unnamed" | "twice" | "unproven" {
  const { id, secret, usesBasicAuth } = readClientCredentials(request, parameters);
  if (!usesBasicAuth && usesBasic(request)) return "unproven";
  if (id === undefined) return "unnamed";
  const { client_id = id, client_secret } = parameters;
  if (usesBasicAuth && (client_id !== id || client_secret !== undefined)) return "twice";
  const client = view.get(oauthClients, id);
  const isProven = client && (client.client_secret === null || isEqualInConstantTime(secret, client.client_secret));
  return isProven ? client : "unproven";
}

/** Creates the header of a response that rejects HTTP basic credentials (RFC 6749, 5.2). */
export const createBasicChallenge = (request: Pick<ReceivedRequest, "headers">): Readonly<Record<string, string>> =>
  usesBasic(request) ? { "www-authenticate": 'Basic realm="oauth"' } : {};

const usesBasic = ({ headers }: Pick<ReceivedRequest, "headers">): boolean =>
  /^basic(?:\s|$)/i.test(headers.authorization ?? "");

/** Decodes the identifier or the secret, which are form-encoded within the header (RFC 6749, 2.3.1). */
const decodeForm = (text: string): string => tryDecodeUrlPart(text.replaceAll("+", " ")) ?? text;

/** An OAuth client of the router and of every cluster. A client without a secret is public (DECISIONS.md, R35). */
export const OAuthClient = z.strictObject({
  client_id: z.string(),
  client_name: z.string(),
  client_secret: z.string().nullable().default(null),
  redirect_uris: z.array(z.string()).default([]),
});
export type OAuthClient = z.infer<typeof OAuthClient>;

export const oauthClients = defineRows({
  name: "oauth_clients",
  schema: OAuthClient,
  key: (row) => row.client_id,
  indexes: {
    origin: ({ redirect_uris }) =>
      redirect_uris
        .flatMap((uri) => (URL.canParse(uri) ? [new URL(uri).origin] : []))
        .filter((each) => each !== "null"),
  },
});
