import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { build } from "esbuild";
import demo from "../../fixtures/seeds/demo.json" with { type: "json" };
import { createTestBrowser } from "../support/browser.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";

const { skip, tab } = createTestBrowser();

/** An app that signs users in with openid-client and shows the result in its title. */
const source = `
import * as openid from "openid-client";

// Tracing libraries add headers to the requests of a page.
const send = fetch;
globalThis.fetch = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("baggage", "page=1");
  return send(url, { ...init, headers });
};

const clientOf = (issuer) =>
  openid.discovery(new URL(issuer), "spa", undefined, openid.None(), {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  });

async function begin(issuer) {
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(await clientOf(issuer), {
    redirect_uri: location.origin + "/callback",
    scope: "openid email",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  sessionStorage.setItem("begun", JSON.stringify({ issuer, verifier }));
  location.assign(url);
}

async function end() {
  const { issuer, verifier } = JSON.parse(sessionStorage.getItem("begun"));
  const config = await clientOf(issuer);
  const tokens = await openid.authorizationCodeGrant(config, new URL(location), {
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const { sub } = tokens.claims();
  const { email } = await openid.fetchUserInfo(config, tokens.access_token, sub);
  const refused = await openid.fetchUserInfo(config, "worn-out", sub).catch((error) => error.cause[0].parameters.error);
  return [sub, email, refused].join(" ");
}

const issuer = new URLSearchParams(location.search).get("issuer");
(issuer ? begin(issuer) : end()).then(
  (shown) => (document.title = shown ?? "waiting"),
  (error) => (document.title = "failed: " + [error, JSON.stringify(error.cause)].join(" ")),
);
`;

/** Starts the app at its own origin. */
async function startApp(t: Pick<TestContext, "after">): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    format: "iife",
    write: false,
  });
  const { url, respond } = await startReceiver(t);
  respond((_, response) =>
    response
      .writeHead(200, { "content-type": "text/html" })
      .end(
        `<!doctype html><title>waiting</title><script>${outputFiles[0]!.text.replaceAll("</script", "<\\/script")}</script>`,
      ),
  );
  return url;
}

const hasTitle = "document.title !== 'waiting'";

describe("OAuth client in the browser", { skip }, () => {
  it("signs a user in with openid-client, from discovery to userinfo", async (t) => {
    const page = await tab(t);
    const origin = await startApp(t);
    const spa = { client_id: "spa", client_name: "Browser app", redirect_uris: [`${origin}/callback`] };
    const { routerUrl } = await startTestEmulator(t, {
      clock: { mode: "real" },
      seed: { ...demo, oauth_clients: [...demo.oauth_clients, spa] },
    });
    await page.goto(`${origin}/?issuer=${encodeURIComponent(routerUrl)}`);
    await page.getByRole("link", { name: "Ada" }).click();
    await page.waitForURL(`${origin}/callback?code=*`);
    await page.waitForFunction(hasTitle);
    assert.equal(await page.title(), "11 ada@northwind.example invalid_token");
  });

  it("receives no tokens at an origin without a registered redirect URI", async (t) => {
    const page = await tab(t);
    const origin = await startApp(t);
    const spa = { client_id: "spa", client_name: "Browser app", redirect_uris: [`${origin}/callback`] };
    const { routerUrl } = await startTestEmulator(t, { seed: { ...demo, oauth_clients: [spa] } });
    const elsewhere = origin.replace("127.0.0.1", "localhost");
    await page.goto(`${elsewhere}/?issuer=${encodeURIComponent(routerUrl)}`);
    await page.waitForFunction(hasTitle);
    assert.equal(await page.title(), "failed: TypeError: Failed to fetch");
  });
});
