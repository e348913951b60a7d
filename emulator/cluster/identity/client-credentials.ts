import { sameSecret } from "../../../src/base/hmac.ts";
import { parseBasic } from "../../../src/schemes/http-basic.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import type { View } from "../../store/port.ts";
import { type OAuthClient, oauthClients } from "../../world/oauth-clients.ts";
import { oauthError } from "./answer.ts";
import type { Parameters } from "./parameters.ts";

/**
 * Which client sends a token request: by HTTP basic or by parameters (RFC 6749, 2.3.1). A public client names itself;
 * a confidential one proves itself. Gives the client, or the answer that refuses it.
 */
export async function clientOf(
  view: View,
  { headers }: Pick<ReceivedRequest, "headers">,
  parameters: Parameters,
): Promise<OAuthClient | Passthrough> {
  const basic = parseBasic(headers.authorization);
  const id = basic ? formDecoded(basic.user) : parameters.client_id;
  if (id === undefined) return oauthError("invalid_request", "client_id is missing");
  const secret = basic ? formDecoded(basic.password) : (parameters.client_secret ?? "");
  const client = await view.get(oauthClients, id);
  const proven = client && (client.client_secret === null || sameSecret(secret, client.client_secret));
  if (client && proven) return client;
  const challenge: Record<string, string> = basic ? { "www-authenticate": 'Basic realm="oauth"' } : {};
  return oauthError("invalid_client", "The client is unknown, or its secret is wrong", challenge, 401);
}

/** Identifier and secret are form-encoded before they are put into the header. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
