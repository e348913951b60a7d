import type { TestContext } from "node:test";
import demo from "../../fixtures/seeds/demo.json" with { type: "json" };
import { signCrmA, signCrmB } from "../../src/schemes/connected-apps.ts";
import type { Tab } from "../support/browser.ts";
import { bilateralSigning, createContractRequest as contract, createSentContract } from "../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { startDeviceAuthorization } from "../support/identity/devices.ts";
import { getSigningLink } from "../support/identity/recipient-page.ts";
import { authorizationRequest, authorizePath, formatParameters } from "../support/identity/sign-in.ts";
import { startReceiver } from "../support/receiver.ts";

/** Starts a third-party site that serves these tags at every path. */
export async function startSite(t: Pick<TestContext, "after">, html: string) {
  const { url, respond, received } = await startReceiver(t);
  const shows = (text: string) =>
    respond((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>Elsewhere</title>${text}`),
    );
  shows(html);
  return { url, received, shows, answer: respond };
}

/** The front end of a CRM app, which shows the messages of the embedding page. */
const frontEnd = "<script>onmessage = ({ data }) => document.body.append(JSON.stringify(data))</script><body>";

export interface PageContext {
  readonly page: Tab;
  readonly emulator: TestEmulator;
  /** Address of a client to which users are redirected. */
  readonly client: string;
  readonly front: string;
}

export async function createStage(t: Pick<TestContext, "after">, page: Tab): Promise<PageContext> {
  const { url: front } = await startSite(t, frontEnd);
  const { url: client } = await startSite(t, "<h1>Back at the client</h1>");
  const apps = { ...demo.apps, crm_b: { ...demo.apps.crm_b, index_url_allow: [front] } };
  return { page, client, front, emulator: await startTestEmulator(t, { seed: { ...demo, apps } }) };
}

type PageOpener = (fixture: PageContext) => Promise<unknown>;

/** Words without a possible line break. */
const longValues = {
  contract_name: "Rahmenvertrag".repeat(10),
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Gesellschaft".repeat(10),
      poc_details: { first_name: "Maximiliana".repeat(6), last_name: "Waldenburg".repeat(6), email: "jo@acme.example" },
    },
  ],
};

const openProvider: PageOpener = ({ page, emulator }) =>
  page.goto(`${emulator.routerUrl}/_emulator/provider?flow=trial&provider=ProviderA&state=s`);

const openWaitingDevice: PageOpener = async ({ page, emulator }) =>
  page.goto(`${emulator.routerUrl}/_emulator/device?user_code=${(await startDeviceAuthorization(emulator)).user_code}`);

const signIn =
  (changes: Record<string, string>): PageOpener =>
  ({ page, emulator, client }) =>
    page.goto(
      `${emulator.clusters[0]!.url}${authorizePath}?${formatParameters({ ...authorizationRequest, redirect_uri: client }, changes)}`,
    );

/** Opens the page with a form, as the CRM does. */
export const createCrmBForm = (
  { emulator, front }: Pick<PageContext, "emulator" | "front">,
  target = "_self",
): string => {
  const envelope = {
    algorithm: "HMACSHA256",
    context: { user: { fullName: "Ada" }, organization: { name: "Northwind" } },
  };
  const signed = signCrmB(demo.apps.crm_b.consumer_secret, JSON.stringify(envelope));
  const action = `${emulator.routerUrl}/router/v1/crm_b/?index_url_override=${encodeURIComponent(front)}`;
  return `<form method="post" action="${action}" target="${target}">
<input name="signed_request" value="${signed}"></form><script>document.forms[0].submit()</script>`;
};

/** All pages by their content, with the way in which a browser opens them. */
export const everyPage: Readonly<Record<string, PageOpener>> = {
  "code prompt of a device": ({ page, emulator }) => page.goto(`${emulator.routerUrl}/_emulator/device`),
  "unknown code of a device": ({ page, emulator }) => page.goto(`${emulator.routerUrl}/_emulator/device?user_code=x`),
  "waiting device": openWaitingDevice,
  "approved device": async (fixture) => {
    await openWaitingDevice(fixture);
    await fixture.page.getByRole("button", { name: "Approve" }).click();
    await fixture.page.getByRole("heading", { name: "Done" }).waitFor();
  },
  provider: openProvider,
  "provider without an address": async (fixture) => {
    await openProvider(fixture);
    await fixture.page.locator("form").evaluate((form: { noValidate: boolean }) => {
      form.noValidate = true;
    });
    await fixture.page.getByRole("button").click();
    await fixture.page.getByRole("alert").waitFor();
  },
  "sign-in": signIn({}),
  "sign-in of an unknown client": signIn({ client_id: "nobody" }),
  "sign-in of an unknown user": signIn({ svc_user: "nobody@x.example" }),
  "sign-in of a user at another cluster": signIn({ svc_user: "eli@fabrikam.example" }),
  contract: async ({ page, emulator }) => {
    const { body } = await emulator.api("POST", "/api/v2.1/public/contracts/", { body: contract() });
    await page.goto(`${emulator.clusters[0]!.url}/contracts/${(body as { id: string }).id}`);
  },
  "missing contract": ({ page, emulator }) => page.goto(`${emulator.clusters[0]!.url}/contracts/T-9`),
  "contract that waits for the user of the link": async ({ page, emulator }) =>
    page.goto(await getSigningLink(emulator, await createSentContract(emulator.api), "jo@acme.example")),
  "contract that waits for another user": async ({ page, emulator }) =>
    page.goto(
      await getSigningLink(emulator, await createSentContract(emulator.api, bilateralSigning), "ada@northwind.example"),
    ),
  "contract with long names and a rejected form": async ({ page, emulator }) => {
    await page.goto(
      await getSigningLink(emulator, await createSentContract(emulator.api, longValues), "jo@acme.example"),
    );
    await page.getByLabel("Note").fill("Fine");
    await emulator.api("POST", "/api/v2.1/public/contracts/1/comments/", { body: { comment: "Meanwhile" } });
    await page.getByRole("button", { name: "Sign" }).click();
    await page.getByRole("alert").waitFor();
  },
  "decline form of a contract": async ({ page, emulator }) => {
    await page.goto(await getSigningLink(emulator, await createSentContract(emulator.api), "jo@acme.example"));
    await page.getByText("Decline", { exact: true }).click();
    await page.getByLabel("Reason").waitFor();
  },
  "contract declined by the user of the link": async ({ page, emulator }) => {
    await page.goto(
      await getSigningLink(emulator, await createSentContract(emulator.api, longValues), "jo@acme.example"),
    );
    await page.getByText("Decline", { exact: true }).click();
    await page.getByLabel("Reason").fill("Vertragsstrafenregelung".repeat(8));
    await page.getByRole("button", { name: "Decline the contract" }).click();
    await page.getByRole("status").waitFor();
  },
  "link with the key of another user": async ({ page, emulator }) => {
    const link = await getSigningLink(emulator, await createSentContract(emulator.api), "jo@acme.example");
    await page.goto(link.replace("jo%40", "eve%40"));
  },
  "app in crm_a": async ({ page, emulator }) => {
    const url = `${emulator.routerUrl}/router/v1/crm_a/iframe?portalId=62515&associatedObjectId=245`;
    const timestamp = String(emulator.clock.now());
    const clientSecret = demo.apps.crm_a.client_secret;
    const signature = signCrmA({ version: "v3", clientSecret, method: "GET", url, body: "", timestamp });
    await page.setExtraHTTPHeaders({ "x-crm-a-signature": signature, "x-crm-a-signature-timestamp": timestamp });
    await page.goto(url);
    await page.setExtraHTTPHeaders({});
  },
  "app in crm_b without a request": ({ page, emulator }) => page.goto(`${emulator.routerUrl}/router/v1/crm_b/`),
  "app in crm_b": async (fixture) => {
    await fixture.page.route("http://crm.localhost/", (route) =>
      route.fulfill({ contentType: "text/html", body: createCrmBForm(fixture) }),
    );
    await fixture.page.goto("http://crm.localhost/");
    await fixture.page.frameLocator("iframe").getByText('"fullName":"Ada"').waitFor();
  },
};
