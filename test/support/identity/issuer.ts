import type { TestContext } from "node:test";
import { exportJWK, type JWTPayload, SignJWT } from "jose";
import { type Receiver, startReceiver } from "../receiver.ts";
import { getKeyPair } from "./key-pairs.ts";

interface PublishedKey {
  readonly kid?: string;
  readonly [member: string]: unknown;
}

/** Changes to a token. Default: a token of the bot framework's service. */
export interface TokenChanges {
  readonly claims?: JWTPayload;
  /** Claims to omit. */
  readonly omittedClaims?: readonly string[];
  readonly header?: Readonly<Record<string, unknown>>;
}

/** A test issuer of bot-framework tokens with its own key and a metadata server, independent of the emulator. */
export interface Issuer extends Receiver {
  readonly metadataUrl: string;
  readonly issuer: string;
  /** Replaces members of the published key. Undefined removes a member. */
  publish(changes: PublishedKey): void;
  token(changes?: TokenChanges): Promise<string>;
}

export const botApp = { app_id: "3f0a2f6e-bot", issuer: "https://api.botframework.com" } as const;
export const serviceUrl = "https://chat-b.example/eu";

export async function startIssuer(t: Pick<TestContext, "after">): Promise<Issuer> {
  const pair = await getKeyPair();
  const base = { ...(await exportJWK(pair.publicKey)), kid: "k1", use: "sig", endorsements: ["msteams"] };
  let published: object = base;
  const server = await startReceiver(t);
  const metadataUrl = `${server.url}/v1/metadata`;
  server.respond((request, response) => {
    const body =
      request.url === "/v1/metadata"
        ? { issuer: botApp.issuer, jwks_uri: `${server.url}/v1/keys` }
        : { keys: [published] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  return {
    ...server,
    metadataUrl,
    issuer: botApp.issuer,
    publish(changes) {
      published = { ...base, ...changes };
    },
    async token({ claims, omittedClaims = [], header } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const all: JWTPayload = {
        iss: botApp.issuer,
        aud: botApp.app_id,
        serviceurl: serviceUrl,
        nbf: now - 10,
        exp: now + 3_600,
        ...claims,
      };
      for (const name of omittedClaims) delete all[name];
      return new SignJWT(all).setProtectedHeader({ alg: "RS256", kid: "k1", ...header }).sign(pair.privateKey);
    },
  };
}
