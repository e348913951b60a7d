import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../emulator/index.ts";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import {
  authorizationRequest,
  authorizePath,
  formatParameters,
  type ParameterChanges,
} from "../support/identity/sign-in.ts";
import { startReceiver } from "../support/receiver.ts";

const { skip, tabInTurn } = createTestBrowser();

const ada = "ada@northwind.example";
const eli = "eli@fabrikam.example";
const users: Readonly<Record<string, { readonly name: string; readonly cluster: string }>> = {
  [ada]: { name: "Ada Keller", cluster: "eu-1" },
  "ben@northwind.example": { name: "Ben Okafor", cluster: "eu-1" },
  "dina@contoso.example": { name: "Dina Roux", cluster: "eu-1" },
  [eli]: { name: "Eli Stone", cluster: "us-1" },
};

/** A client whose page reports that the browser has reached it. */
async function startClientSite(t: TestContext) {
  const site = await startReceiver(t);
  site.respond((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Back at the client"));
  return site;
}

interface Scene {
  readonly page: Tab;
  readonly emulator: TestEmulator;
  /** Opens the sign-in page as the client would, at the router or at another listener. */
  open(changes?: ParameterChanges, base?: string): Promise<void>;
  /** The code that the client received. */
  arrival(): Promise<string>;
}

async function prepareSignInPage(t: TestContext, options: EmulatorOptions = {}): Promise<Scene> {
  const page = await tabInTurn();
  const emulator = await startTestEmulator(t, options);
  const { url } = await startClientSite(t);
  const redirect_uri = `${url}/callback`;
  return {
    page,
    emulator,
    open: async (changes = {}, base = emulator.routerUrl) => {
      await page.goto(
        `${base}${authorizePath}?${formatParameters({ ...authorizationRequest, redirect_uri }, changes)}`,
      );
    },
    arrival: async () => {
      await page.getByRole("heading", { name: "Back at the client" }).waitFor();
      const { origin, pathname, searchParams } = new URL(page.url());
      assert.equal(`${origin}${pathname}`, redirect_uri);
      assert.equal(searchParams.get("state"), authorizationRequest.state);
      return searchParams.get("code")!;
    },
  };
}

describe("sign-in page in a browser", { skip }, () => {
  const signInCases: [string, ParameterChanges, Readonly<Record<string, string>>][] = [
    ["without login_hint", {}, {}],
    ["with a login_hint of the first cluster", { login_hint: ada }, {}],
    ["with a login_hint of the other cluster", { login_hint: eli }, {}],
    ["for a client that is mapped to a cluster", {}, { "demo-cli": "us-1" }],
    ["with cluster_id", { cluster_id: "us-1" }, {}],
  ];
  for (const [label, changes, mapped] of signInCases) {
    it(`signs in each offered user at their own cluster (${label})`, async (t) => {
      const { page, open, arrival } = await prepareSignInPage(t, { seed: await seedWith(mapped) });
      for (const [email, { name, cluster }] of Object.entries(users)) {
        await page.context().clearCookies();
        await open(changes);
        await page.getByRole("link", { name }).click();
        assert.match(await arrival(), new RegExp(`^${cluster}_`), email);
      }
      assert.deepEqual(page.complaints, []);
    });

    it(`signs in a user by an entered address (${label})`, async (t) => {
      const { page, open, arrival } = await prepareSignInPage(t, { seed: await seedWith(mapped) });
      for (const [email, { cluster }] of Object.entries(users)) {
        await page.context().clearCookies();
        await open(changes);
        assert.equal(await page.getByLabel("Another user").inputValue(), changes.login_hint ?? "");
        await page.getByLabel("Another user").fill(email);
        await page.getByRole("button", { name: "Sign in" }).click();
        // A mapped client uses its own cluster, which links to the cluster of the user.
        const [owner] = Object.values(mapped);
        if (owner && owner !== cluster) await page.getByRole("link", { name: `Sign in at cluster ${cluster}` }).click();
        assert.match(await arrival(), new RegExp(`^${cluster}_`), email);
      }
      assert.deepEqual(page.complaints.filter(isNoMiss), []);
    });
  }

  it("signs in users of the other cluster at a cluster's own listener", async (t) => {
    const { page, emulator, open, arrival } = await prepareSignInPage(t);
    for (const { id, url } of emulator.clusters) {
      for (const [email, { name, cluster }] of Object.entries(users)) {
        await page.context().clearCookies();
        await open({}, url);
        await page.getByRole("link", { name }).click();
        assert.match(await arrival(), new RegExp(`^${cluster}_`), `${email} at ${id}`);
      }
    }
    assert.deepEqual(page.complaints, []);
  });

  it("reports an unknown address and links to the known users", async (t) => {
    const { page, open, arrival } = await prepareSignInPage(t);
    await open();
    await page.getByLabel("Another user").fill("nobody@x.example");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Cluster eu-1 has no active user nobody@x.example.").waitFor();
    await page.getByRole("link", { name: "Choose another user" }).click();
    await page.getByRole("link", { name: "Eli Stone" }).click();
    assert.match(await arrival(), /^us-1_/);
  });

  it("follows the redirect of the client's callback", async (t) => {
    const { page, open } = await prepareSignInPage(t);
    const front = await startClientSite(t);
    const back = await startReceiver(t);
    back.respond((_, response) =>
      response.writeHead(302, { location: front.url.replace("127.0.0.1", "localhost") }).end(),
    );
    await open({ redirect_uri: `${back.url}/callback` });
    await page.getByLabel("Another user").fill(eli);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Back at the client" }).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("is skipped after a sign-in until the client requests the page", async (t) => {
    const { page, open, arrival } = await prepareSignInPage(t);
    await open();
    await page.getByRole("link", { name: "Eli Stone" }).click();
    const first = await arrival();
    await open();
    assert.notEqual(await arrival(), first);
    await open({ prompt: "select_account" });
    await page.getByRole("link", { name: "Ada Keller" }).click();
    assert.match(await arrival(), /^eu-1_/);
  });
});

/** A cluster responds with 404 to an unknown address. */
const isNoMiss = (complaint: string): boolean => !complaint.includes("404 (Not Found)");

async function seedWith(clients: Readonly<Record<string, string>>) {
  const { default: demo } = await import("../../fixtures/seeds/demo.json", { with: { type: "json" } });
  const cluster_clients = Object.fromEntries(Object.entries(clients).map(([client, cluster]) => [cluster, [client]]));
  return { ...demo, mappings: { cluster_clients } };
}
