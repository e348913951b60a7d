import assert from "node:assert/strict";
import { describe, it } from "node:test";
import demo from "../../../../fixtures/seeds/demo.json" with { type: "json" };
import {
  startTestEmulator,
  type TestEmulator,
  type TestRequest,
  type TestResponse,
} from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const app = "https://spa.example:8443";
const oauth_clients = [
  { client_id: "spa", client_name: "Browser app", redirect_uris: [`${app}/callback?x=1`, "com.example.spa:/callback"] },
  ...demo.oauth_clients,
];
const seed = { ...demo, oauth_clients };

const openPaths: readonly (readonly [method: string, path: string, status: number])[] = [
  ["GET", "/.well-known/openid-configuration", 200],
  ["GET", "/.well-known/oauth-authorization-server", 200],
  ["GET", "/.well-known/jwks.json", 200],
  ["POST", "/api/v1/oauth/token/", 400],
  ["GET", "/api/v1/oauth/userinfo/", 401],
];

/** Returns the response headers that decide whether a browser lets a page of another origin read the response. */
const pickCorsHeaders = ({ headers }: TestResponse) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary"));

const createCorsHeaders = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": "retry-after, www-authenticate",
  vary: "origin",
});
const shownToNone = { vary: "origin" };

const addOrigin = (origin: string, { headers, ...sent }: TestRequest = {}): TestRequest => ({
  ...sent,
  headers: { ...headers, origin },
});

describe("an OAuth client in a browser", () => {
  it("reads discovery, keys, token and userinfo from a registered redirect origin", async (t) => {
    const { router } = await startTestEmulator(t, { seed });
    for (const [method, path, status] of openPaths) {
      const response = await router(method, path, addOrigin(app));
      assert.deepEqual([response.status, pickCorsHeaders(response)], [status, createCorsHeaders(app)], path);
    }
  });

  it("can send a token and other headers, such as those of tracing libraries, but no cookie", async (t) => {
    const { router } = await startTestEmulator(t, { seed });
    for (const [method, path] of openPaths) {
      const asks = { "access-control-request-method": method, "access-control-request-headers": "authorization" };
      const response = await router("OPTIONS", path, addOrigin(app, { headers: asks }));
      assert.deepEqual(
        [response.status, response.body, pickCorsHeaders(response)],
        [
          204,
          "",
          {
            "access-control-allow-origin": app,
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "authorization, *",
            "access-control-max-age": "600",
            vary: "origin",
          },
        ],
        path,
      );
    }
  });

  for (const origin of [
    "https://spa.example",
    "https://spa.example:8443.evil.example",
    "http://spa.example:8443",
    "https://evil.example",
    "http://127.0.0.1:3000",
    "null",
  ]) {
    it(`cannot read from ${origin} without a registered redirect URI`, async (t) => {
      const { router } = await startTestEmulator(t, { seed });
      for (const [method, path, status] of openPaths) {
        const response = await router(method, path, addOrigin(origin));
        assert.deepEqual([response.status, pickCorsHeaders(response)], [status, shownToNone], path);
        const preflight = await router(
          "OPTIONS",
          path,
          addOrigin(origin, { headers: { "access-control-request-method": method } }),
        );
        assert.deepEqual([preflight.status, pickCorsHeaders(preflight)], [405, shownToNone], path);
      }
    });
  }

  it("cannot read other endpoints", async (t) => {
    const { router } = await startTestEmulator(t, { seed });
    for (const [method, path] of [
      ["GET", "/"],
      ["GET", "/api/v1/oauth/authorize/?client_id=spa"],
      ["POST", "/router/v1/oauth2.0/token/"],
      ["GET", "/.well-known/oauth-authorization-server/tenant"],
      ["GET", "/anything"],
    ] as const) {
      assert.deepEqual(pickCorsHeaders(await router(method, path, addOrigin(app))), {}, path);
    }
  });

  it("can read the response of a scripted fault", async (t) => {
    const emulator: TestEmulator = await startTestEmulator(t, { seed });
    await emulator.control("POST", "faults", { body: { direction: "incoming", operation: "oidc.token", status: 503 } });
    const response = await emulator.router("POST", "/api/v1/oauth/token/", addOrigin(app));
    assert.deepEqual([response.status, pickCorsHeaders(response)], [503, createCorsHeaders(app)]);
  });

  it("receives a single CORS response, whatever an external cluster sends", async (t) => {
    const emulator = await startRoutedEmulator(t, { oauth_clients });
    emulator.eu.respond((_, response) =>
      response
        .writeHead(200, { "Access-Control-Allow-Origin": "*", "access-control-allow-credentials": "true" })
        .end("{}"),
    );
    const token = { body: { grant_type: "refresh_token", refresh_token: "eu-1_x", client_id: "spa" } };
    assert.deepEqual(
      pickCorsHeaders(await emulator.router("POST", "/api/v1/oauth/token/", addOrigin(app, token))),
      createCorsHeaders(app),
    );
    const evil = addOrigin("https://evil.example", token);
    assert.deepEqual(pickCorsHeaders(await emulator.router("POST", "/api/v1/oauth/token/", evil)), shownToNone);
  });
});
