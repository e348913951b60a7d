import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { CloudAdapter, Request, Response } from "botbuilder";
import { createSender, startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { installLibrary } from "../support/foreign/library.ts";
import { botApp, serviceUrl, startIssuer, type TokenChanges } from "../support/identity/issuer.ts";

const { missing, load } = await installLibrary("botbuilder@4.23.3");

/** The official library of chat_b as a cluster behind the router. It verifies the token of every activity. */
const path = "/router/v1/integrations/chat_b/webhook/messaging";
const activity = {
  type: "message",
  id: "1",
  text: "café é",
  channelId: "msteams",
  serviceUrl,
  from: { id: "u" },
  recipient: { id: "b" },
  conversation: { id: "c", tenantId: "tenant-1" },
  channelData: { tenant: { id: "tenant-1" } },
};

interface Bot {
  readonly url: string;
  /** Texts of the accepted activities. */
  readonly texts: (string | undefined)[];
}

async function startBot(t: TestContext, metadataUrl: () => string): Promise<Bot> {
  // The library prints the stack for every rejected token.
  t.mock.method(console, "error", () => {});
  const texts: (string | undefined)[] = [];
  let adapter: CloudAdapter | undefined;
  const server = createServer(async (request, response) => {
    adapter ??= createAdapter(metadataUrl());
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    try {
      await adapter.process(toBotRequest(request, body), toBotResponse(response), async ({ activity: { text } }) => {
        texts.push(text);
      });
    } catch {
      // The library throws for tokens that other libraries reject.
      if (!response.headersSent) response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, texts };
}

function createAdapter(metadataUrl: string): CloudAdapter {
  const { AuthenticationConfiguration, BotFrameworkAuthenticationFactory, PasswordServiceClientCredentialFactory } =
    load<typeof import("botframework-connector")>("botframework-connector");
  const { CloudAdapter } = load<typeof import("botbuilder")>("botbuilder");
  return new CloudAdapter(
    BotFrameworkAuthenticationFactory.create(
      "",
      true,
      "https://login.example",
      "https://api.example",
      botApp.issuer,
      "https://oauth.example",
      metadataUrl,
      metadataUrl,
      "",
      new PasswordServiceClientCredentialFactory(botApp.app_id, "password"),
      new AuthenticationConfiguration(),
      undefined,
      {},
    ),
  );
}

const toBotRequest = ({ headers, method }: IncomingMessage, body: Record<string, unknown>): Request => ({
  body,
  headers,
  method,
});

function toBotResponse(response: ServerResponse): Response {
  let status = 200;
  return {
    socket: response.socket,
    status: (code: number) => {
      status = code;
    },
    header: (name: string, value: unknown) => response.setHeader(name, String(value)),
    send: (body: unknown) => response.writeHead(status).end(body === undefined ? "" : JSON.stringify(body)),
    end: () => response.headersSent || response.writeHead(status).end(),
  };
}

/** A router with the bot as the cluster of tenant-1, and an unchecked emulated cluster for tenant-2. */
const startBotRouter = (t: TestContext, target: Bot, app: object): Promise<TestEmulator> =>
  startTestEmulator(t, {
    seed: {
      clusters: [
        { id: "eu-1", label: "eu" },
        { id: "bot", label: "bot", external_url: target.url },
      ],
      mappings: { external_integrations: { bot: ["CHAT_B:tenant-1"], "eu-1": ["CHAT_B:tenant-2"] } },
      apps: { chat_b: { ...botApp, ...app } },
    },
  });

describe("cluster with chat_b's official library", { skip: missing }, () => {
  it("accepts forwarded activities from an issuer of the seed", async (t) => {
    const trusted = await startIssuer(t);
    const target = await startBot(t, () => trusted.metadataUrl);
    const emulator = await startBotRouter(t, target, { openid_metadata_url: trusted.metadataUrl });
    const headers = { authorization: `Bearer ${await trusted.token()}` };
    assert.equal((await emulator.router("POST", path, { body: activity, headers })).status, 200);
    assert.deepEqual(target.texts, ["café é"]);
  });

  it("accepts tokens of the emulator's issuer, using its metadata and keys", async (t) => {
    let emulator: TestEmulator | undefined;
    const target = await startBot(t, () => `${emulator!.controlUrl}/chat-b/openid-configuration`);
    emulator = await startBotRouter(t, target, {});
    const response = await emulator.control("POST", "chat-b/token", { body: { service_url: serviceUrl } });
    const headers = { authorization: `Bearer ${(response.body as { token: string }).token}` };
    assert.equal((await emulator.router("POST", path, { body: activity, headers })).status, 200);
    assert.deepEqual(target.texts, ["café é"]);
  });

  const now = Math.floor(Date.now() / 1_000);
  interface Case {
    readonly token?: TokenChanges;
    readonly body?: object;
    readonly key?: object;
    /** A header that differs from the default. */
    readonly authorization?: (token: string) => string | undefined;
  }
  const cases: Readonly<Record<string, Case>> = {
    "a good token": {},
    "no header": { authorization: () => undefined },
    "an empty token": { authorization: () => "Bearer" },
    "the basic scheme": { authorization: (token) => `Basic ${token}` },
    "the scheme in lower case": { authorization: (token) => `bearer ${token}` },
    "a tampered signature": { authorization: (token) => `Bearer ${token.slice(0, -8)}AAAAAAAA` },
    "another issuer": { token: { claims: { iss: "https://else.example" } } },
    "another app": { token: { claims: { aud: "else" } } },
    "another serviceurl": { token: { claims: { serviceurl: "https://else.example" } } },
    "no serviceurl": { token: { omittedClaims: ["serviceurl"] } },
    "the claim serviceUrl": { token: { claims: { serviceUrl }, omittedClaims: ["serviceurl"] } },
    "a token that expired a minute ago": { token: { claims: { exp: now - 60 } } },
    "a token that expired ten minutes ago": { token: { claims: { exp: now - 600 } } },
    "a token that becomes valid in ten minutes": { token: { claims: { nbf: now + 600 } } },
    "no expiry": { token: { omittedClaims: ["exp"] } },
    "an unknown key": { token: { header: { kid: "k2" } } },
    "no kid": { token: { header: { kid: undefined } } },
    "a channel that the key is not endorsed for": { body: { ...activity, channelId: "webchat" } },
    "no channel, and an endorsed key": { body: { ...activity, channelId: undefined } },
    "a key without endorsements": { key: { endorsements: undefined }, body: { ...activity, channelId: "webchat" } },
    "an activity without serviceUrl": { body: { ...activity, serviceUrl: undefined } },
    "the desktop emulator, version 1": {
      token: {
        claims: {
          iss: "https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/",
          ver: "1.0",
          appid: botApp.app_id,
        },
      },
    },
    "the desktop emulator, version 2": {
      token: {
        claims: {
          iss: "https://login.microsoftonline.com/d6d49420-f39b-4df7-a1dc-d59a935871db/v2.0",
          ver: "2.0",
          azp: botApp.app_id,
        },
      },
    },
  };
  const bearer = (token: string) => `Bearer ${token}`;
  for (const [name, { token, body = activity, key, authorization = bearer }] of Object.entries(cases)) {
    it(`agrees with the router on ${name}`, async (t) => {
      const trusted = await startIssuer(t);
      if (key) trusted.publish(key as never);
      const target = await startBot(t, () => trusted.metadataUrl);
      const emulator = await startBotRouter(t, target, { openid_metadata_url: trusted.metadataUrl });
      const header = authorization(await trusted.token(token));
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const request = { body: { ...body, channelData: { tenant: { id: "tenant-2" } } }, headers };
      const direct = await createSender(target.url)("POST", path, request);
      const routed = await emulator.router("POST", path, request);
      // The router rejects tokens for which this library fails with an exception (DECISIONS.md, P11).
      assert.equal(routed.status, direct.status === 500 ? 401 : direct.status);
    });
  }
});
