import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, optionalString } from "../shapes.ts";

const Token = z.strictObject({
  token: z.string().describe("Value for the header authorization, after `Bearer `"),
  token_type: z.literal("Bearer"),
  expires_in: z.int().describe("Seconds of wall time"),
  kid: z.string(),
});

export const mintChatBToken = defineOperation({
  id: "chat-b-issuer.mint",
  ...controlOperation,
  summary: "Mint a bot-framework token for an activity of chat_b",
  description: "The emulator's own issuer signs the token. The router trusts it, unless the seed names another.",
  method: "POST",
  path: "/_emulator/chat-b/token",
  request: {
    body: json(
      z.object({
        service_url: optionalString.describe("serviceUrl of the activity"),
        app_id: optionalString.describe("App of the token (default: the app of the seed)"),
        issuer: optionalString.describe("Issuer of the token (default: the issuer of the seed)"),
        expires_in: z.int().default(3600).describe("Seconds until it expires, on the wall clock; may be negative"),
        not_before: z.int().default(0).describe("Seconds until it becomes valid"),
        claims: dictionary(z.unknown()).default({}).describe("Additional claims; they override those above"),
      }),
    ),
  },
  responses: { 200: json(Token) },
  failures: ["foreign-issuer"],
  cli: { command: "emulator chat-b token" },
  examples: [{ title: "Get a token to send an activity", body: { service_url: "https://chat-b.example/eu" } }],
});

export const showChatBIssuer = defineOperation({
  id: "chat-b-issuer.metadata",
  ...controlOperation,
  summary: "Show the metadata of the bot-framework token issuer",
  path: "/_emulator/chat-b/openid-configuration",
  auth: "none",
  responses: {
    200: json(
      z.strictObject({
        issuer: z.string(),
        jwks_uri: z.url(),
        id_token_signing_alg_values_supported: z.array(z.string()),
      }),
    ),
  },
  cli: { command: "emulator chat-b metadata" },
  examples: [{ title: "Get the metadata for your own bot" }],
});

export const showChatBKeys = defineOperation({
  id: "chat-b-issuer.keys",
  ...controlOperation,
  summary: "Show the public keys of the bot-framework token issuer",
  path: "/_emulator/chat-b/keys",
  auth: "none",
  responses: { 200: json(z.strictObject({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) })) },
  cli: { command: "emulator chat-b keys" },
  examples: [{ title: "List the signing keys" }],
});
