import { calculateJwkThumbprint, importJWK, SignJWT } from "jose";
import { createPrivateJwk } from "../cluster/identity/signing-keys.ts";
import { chatBKeys, listPublicChatBKeys, readConnectedApps } from "../domain/apps.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";

export const chatBIssuerHandlers = {
  "chat-b-issuer.mint": async ({ body }, context) => {
    const { chat_b: app } = await context.store.read(readConnectedApps);
    if (app.openid_metadata_url !== null) context.fail("foreign-issuer", { url: app.openid_metadata_url });
    const { kid, jwk } = await getIssuerKey(context);
    const now = Math.floor(context.wall.now() / 1_000);
    const token = await new SignJWT({
      iss: body.issuer ?? app.issuer,
      aud: body.app_id ?? app.app_id,
      ...(body.service_url === undefined ? {} : { serviceurl: body.service_url }),
      iat: now,
      nbf: now + body.not_before,
      exp: now + body.expires_in,
      ...body.claims,
    })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", kid })
      .sign(await importJWK({ ...jwk, kty: "RSA" }, "RS256"));
    return { token, token_type: "Bearer" as const, expires_in: body.expires_in, kid };
  },

  "chat-b-issuer.metadata": async (_, { store, settings }) => ({
    issuer: (await store.read(readConnectedApps)).chat_b.issuer,
    jwks_uri: `${settings.publicUrl}/_emulator/chat-b/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
  }),

  "chat-b-issuer.keys": async (_, context) => {
    await getIssuerKey(context);
    return { keys: (await context.store.read(listPublicChatBKeys)).map((key) => ({ ...key })) };
  },
} satisfies ControlHandlers;

/**
 * Returns the issuer's private key. It is created on first use, because creating it takes longer than starting an
 * emulator.
 */
async function getIssuerKey({ store, settings }: Pick<ControlContext, "store" | "settings">) {
  const [storedKey] = await store.read((view) => view.list(chatBKeys));
  if (storedKey) return storedKey;
  const { app_id: appId } = (await store.read(readConnectedApps)).chat_b;
  const jwk = await createPrivateJwk(settings.deterministic ? `chat_b\0${appId}` : undefined);
  const kid = await calculateJwkThumbprint(jwk);
  return store.transaction("make the key of chat_b", async (tx) => {
    // Concurrent requests can each create a key. The first stored key is used.
    const [storedRow] = await tx.list(chatBKeys);
    if (storedRow) return storedRow;
    const row = { kid, jwk: { ...jwk } };
    tx.put(chatBKeys, row);
    return row;
  });
}
