import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import demo from "../../fixtures/seeds/demo.json" with { type: "json" };
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";

const { skip, tabInTurn } = createTestBrowser();

async function begin(
  t: TestContext,
  path: string,
  seed: object = demo,
): Promise<{ page: Tab; emulator: TestEmulator }> {
  const page = await tabInTurn();
  const emulator = await startTestEmulator(t, { seed });
  const { authorization_url } = (await emulator.router("GET", path)).body as { authorization_url: string };
  await page.goto(authorization_url);
  return { page, emulator };
}

async function signInAs(page: Tab, email: string, name = ""): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Returns the response of the callback after the browser has reached it. */
async function readJsonPage(page: Tab, path: string): Promise<Record<string, unknown>> {
  await page.waitForURL((url) => url.pathname === path);
  return JSON.parse((await page.locator("body").textContent())!);
}

const login = "/api/v1/svc_auth/oauth/login";
const callback = "/api/v1/svc_auth/oauth/callback";

describe("provider page in a browser", { skip }, () => {
  for (const [flow, from, to, email] of [
    // A trial and an account at another cluster require an unknown user.
    ["a trial", "/router/v1/trial/signup/oauth", "/router/v1/trial/signup/oauth/callback", "zoe@newco.example"],
    ["a signup", "/api/v1/svc_auth/oauth/signup", "/api/v1/svc_auth/oauth/signup/callback", "zoe@newco.example"],
    ["a login", `${login}?provider=ProviderC&cluster_id=us-1`, callback, "eli@fabrikam.example"],
  ] as const) {
    it(`signs a user in for ${flow}`, async (t) => {
      const { page } = await begin(t, from);
      await signInAs(page, email, "Eli");
      assert.equal((await readJsonPage(page, to)).email, email);
      assert.deepEqual(page.complaints, []);
    });
  }

  it("adds the app to a team of chat_a or denies the request", async (t) => {
    const page = await tabInTurn();
    const emulator = await startTestEmulator(t);
    const open = async () => {
      const { body } = await emulator.control("POST", "installations/chat_a", { body: { workspace_id: 3 } });
      await page.goto((body as { authorization_url: string }).authorization_url);
    };
    const redirect = "/router/v1/integrations/destinations/default/chat_a/oauth_redirect";
    await open();
    await page.getByLabel("Team ID").fill("T-NEW");
    await page.getByRole("button", { name: "Allow" }).click();
    assert.equal((await readJsonPage(page, redirect)).cluster_id, "us-1");
    await open();
    await page.getByRole("button", { name: "Deny" }).click();
    assert.deepEqual(await readJsonPage(page, redirect), { detail: "The installation was denied: access_denied" });
  });

  it("prompts again for an invalid address and preserves the input", async (t) => {
    const { page } = await begin(t, "/router/v1/trial/signup/oauth");
    // The type text disables the browser's own validation.
    await page.getByLabel("E-mail address").evaluate((input) => input.setAttribute("type", "text"));
    await signInAs(page, "zoe", "Zoe");
    assert.equal(await page.getByRole("alert").textContent(), "The e-mail address is not valid.");
    assert.equal(await page.getByLabel("Name").inputValue(), "Zoe");
    await signInAs(page, "zoe@newco.example", "Zoe");
    const { email } = await readJsonPage(page, "/router/v1/trial/signup/oauth/callback");
    assert.equal(email, "zoe@newco.example");
  });

  it("follows the redirect of a back end's callback", async (t) => {
    const front = await startReceiver(t);
    front.respond((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome"));
    const scriptedResponse = { method: "GET", path: callback, status: 302, headers: { location: front.url }, body: {} };
    const { page } = await begin(t, login, { ...demo, apps: { ...demo.apps, answers: [scriptedResponse] } });
    await signInAs(page, "ada@northwind.example");
    await page.getByRole("heading", { name: "Welcome" }).waitFor();
    assert.deepEqual(page.complaints, []);
  });
});
