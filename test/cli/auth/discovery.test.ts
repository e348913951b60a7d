import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";
import { startReceiver } from "../../support/receiver.ts";

const page = "<!doctype html><title>An app that answers every path</title>";

/** Signs in at the issuer `path` of a server with these documents. Other paths get `otherwise`. */
async function signIn(
  t: TestContext,
  path: string,
  documents: (origin: string) => Readonly<Record<string, object>>,
  otherwise: { readonly status: number; readonly body: string } = { status: 404, body: "" },
) {
  const server = await startReceiver(t);
  const served: Readonly<Record<string, object>> = {
    ...documents(server.url),
    "/device/": {
      device_code: "secret",
      user_code: "WDJB-MJHT",
      verification_uri: "https://id.example.com/device",
      expires_in: 600,
    },
    "/token/": { access_token: "at", token_type: "Bearer" },
  };
  server.respond(({ url }, response) => {
    const document = served[url];
    response.writeHead(document ? 200 : otherwise.status, {
      "content-type": document ? "application/json" : "text/html",
    });
    response.end(document ? JSON.stringify(document) : otherwise.body);
  });
  const argv = ["auth", "device-login", "--client-id", "cli", "--issuer", `${server.url}${path}`];
  const result = await runCli(argv, {
    wall: createMovedWallClock(),
    env: { SVC_CONFIG_DIR: await createTestFolder(t) },
  });
  const requests = server.received.map(({ method, url }) => `${method} ${url}`);
  return { ...result, requests, origin: server.url };
}

const createMetadata = (issuer: string, origin = issuer) => ({
  issuer,
  device_authorization_endpoint: `${origin}/device/`,
  token_endpoint: `${origin}/token/`,
});

const openid = "/.well-known/openid-configuration";
const oauth = "/.well-known/oauth-authorization-server";
const login = ["POST /device/", "POST /token/"];

describe("issuer metadata discovery", () => {
  it("appends the path of OpenID Connect metadata to the issuer (Discovery, 4)", async (t) => {
    const { exit, requests } = await signIn(t, "/tenant/a", (origin) => ({
      [`/tenant/a${openid}`]: createMetadata(`${origin}/tenant/a`, origin),
    }));
    assert.deepEqual([exit, requests], [0, [`GET /tenant/a${openid}`, ...login]]);
  });

  it("inserts the path of OAuth metadata before the issuer's path (RFC 8414, 3.1)", async (t) => {
    const { exit, requests } = await signIn(t, "/tenant/a", (origin) => ({
      [`${oauth}/tenant/a`]: createMetadata(`${origin}/tenant/a/`, origin),
      // The metadata of another issuer on the same server.
      [oauth]: createMetadata(origin),
    }));
    assert.deepEqual([exit, requests], [0, [`GET /tenant/a${openid}`, `GET ${oauth}/tenant/a`, ...login]]);
  });

  it("requests each metadata URL once", async (t) => {
    const { exit, requests } = await signIn(t, "", () => ({}));
    assert.deepEqual([exit, requests], [1, [`GET ${openid}`, `GET ${oauth}`]]);
    const { requests: withPath } = await signIn(t, "/tenant/a", () => ({}));
    assert.deepEqual(withPath, [
      `GET /tenant/a${openid}`,
      `GET ${oauth}/tenant/a`,
      `GET ${openid}/tenant/a`,
      `GET /tenant/a${oauth}`,
    ]);
  });

  it("skips a web page with any status and requests the next URL", async (t) => {
    const spa = { status: 200, body: page };
    const found = await signIn(t, "", (origin) => ({ [oauth]: createMetadata(origin) }), spa);
    assert.deepEqual([found.exit, found.requests], [0, [`GET ${openid}`, `GET ${oauth}`, ...login]]);
    const none = await signIn(t, "", () => ({}), spa);
    assert.equal(none.exit, 1);
    assert.equal(
      none.stderr,
      `error: The metadata of ${none.origin} is not a JSON document with an issuer.\n` +
        "  Check that --issuer is exactly the issuer address of the server.\n",
    );
  });

  it("prefers metadata with a device authorization endpoint", async (t) => {
    const { exit } = await signIn(t, "", (origin) => ({
      [openid]: { issuer: origin, token_endpoint: `${origin}/elsewhere` },
      [oauth]: createMetadata(origin),
    }));
    assert.equal(exit, 0);
  });

  const rejectedDocuments: [string, (origin: string) => object, RegExp][] = [
    ["of another issuer", () => createMetadata("https://other.example"), /has another issuer/],
    ["without a device login", (origin) => ({ issuer: origin }), /The server does not support device login/],
    [
      "with an endpoint that is not an http URL",
      (origin) => ({ ...createMetadata(origin), token_endpoint: "file:///token" }),
      /has a token_endpoint that is not an http URL/,
    ],
  ];
  for (const [label, document, message] of rejectedDocuments) {
    it(`rejects metadata ${label} and sends no request to the endpoint`, async (t) => {
      const { exit, stderr, requests } = await signIn(t, "", (origin) => ({ [openid]: document(origin) }));
      assert.deepEqual([exit, requests], [1, [`GET ${openid}`, `GET ${oauth}`]]);
      assert.match(stderr, message);
    });
  }
});
