import type { TestContext } from "node:test";
import { exportJWK, type JWTPayload, SignJWT } from "jose";
import { type Receiver, receiver } from "../receiver.ts";
import { keyPair } from "./key-pairs.ts";

interface Published {
  readonly kid?: string;
  readonly [member: string]: unknown;
}

/** A token as a test wants it: what is left out is as the bot-framework's service would have it. */
export interface TokenChanges {
  readonly claims?: JWTPayload;
  /** Claims that are left out. */
  readonly without?: readonly string[];
  readonly header?: Readonly<Record<string, unknown>>;
}

/** An issuer of bot-framework tokens that is not the emulator's: a metadata server of the test, with a key of its own. */
export interface Issuer extends Receiver {
  readonly metadataUrl: string;
  readonly issuer: string;
  /** Replaces the members of the published key; undefined leaves one out. */
  publish(changes: Published): void;
  token(changes?: TokenChanges): Promise<string>;
}

export const botApp = { app_id: "3f0a2f6e-bot", issuer: "https://api.botframework.com" } as const;
export const serviceUrl = "https://chat-b.example/eu";

export async function issuer(t: Pick<TestContext, "after">): Promise<Issuer> {
  const pair = await keyPair();
  const base = { ...(await exportJWK(pair.publicKey)), kid: "k1", use: "sig", endorsements: ["msteams"] };
  let published: object = base;
  const server = await receiver(t);
  const metadataUrl = `${server.url}/v1/metadata`;
  server.answer((request, response) => {
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
    async token({ claims, without = [], header } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const all: JWTPayload = {
        iss: botApp.issuer,
        aud: botApp.app_id,
        serviceurl: serviceUrl,
        nbf: now - 10,
        exp: now + 3_600,
        ...claims,
      };
      for (const name of without) delete all[name];
      return new SignJWT(all).setProtectedHeader({ alg: "RS256", kid: "k1", ...header }).sign(pair.privateKey);
    },
  };
}
