import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { createOAuthError, type Device, startDeviceAuthorization } from "../support/identity/devices.ts";
import { getHiddenFields } from "../support/identity/forms.ts";
import { authorizationRequest, authorizePath, formatParameters } from "../support/identity/sign-in.ts";
import { startSite } from "./every-page.ts";

const { skip, tab } = createTestBrowser();

/** A forged form with all fields, including the hidden fields of the emulator's own page. */
interface ForgedForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

const escapeAttribute = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");

const createSubmittingForm = ({ action, fields }: ForgedForm): string =>
  `<form method="post" action="${action}">${Object.entries(fields)
    .map(([name, value]) => `<input name="${name}" value="${escapeAttribute(value)}">`)
    .join("")}</form><script>document.forms[0].submit()</script>`;

const createSender =
  (script: string) =>
  ({ action, fields }: ForgedForm) =>
    `<script>const to = ${JSON.stringify(action)}, what = new URLSearchParams(${JSON.stringify(fields)}); ${script}</script>`;

/** Pages of another site that submit the form in different ways. */
const attacks: Readonly<Record<string, (forged: ForgedForm) => string>> = {
  "a form that submits itself": createSubmittingForm,
  "a form of a page without a referrer": (forged) =>
    `<meta name="referrer" content="no-referrer">${createSubmittingForm(forged)}`,
  "a form in a sandboxed frame": (forged) =>
    `<iframe sandbox="allow-forms allow-scripts" srcdoc="${escapeAttribute(createSubmittingForm(forged))}"></iframe>`,
  "a form in a frame of a data URL": (forged) =>
    `<iframe src="data:text/html,${encodeURIComponent(createSubmittingForm(forged))}"></iframe>`,
  "a form that its own site redirects with 307": ({ fields }) => createSubmittingForm({ action: "/on", fields }),
  "a fetch": createSender('fetch(to, { method: "POST", body: what })'),
  "a fetch in no-cors mode": createSender(
    'fetch(to, { method: "POST", mode: "no-cors", credentials: "include", body: what })',
  ),
  "a beacon": createSender("navigator.sendBeacon(to, what)"),
};

/** Limits the wait for a form that never arrives. */
const patienceMs = 45_000;

/** The other site: another name of this machine, and another port of the same address. */
const hosts = ["evil.localhost", "127.0.0.1"];

async function prepareForgedForms(
  t: TestContext,
): Promise<{ page: Tab; emulator: TestEmulator; waiting: Device; forms: ForgedForm[] }> {
  const page = await tab(t);
  const emulator = await startTestEmulator(t);
  const waiting = await startDeviceAuthorization(emulator);
  const createForgedForm = async (path: string, fields: Record<string, string>): Promise<ForgedForm> => {
    const action = `${emulator.routerUrl}${path}`;
    return {
      action: action.split("?")[0]!,
      fields: { ...getHiddenFields(await (await fetch(action)).text()), ...fields },
    };
  };
  const forms = [
    await createForgedForm(`/_emulator/device?user_code=${waiting.user_code}`, {
      status: "AUTHORIZED",
      cluster_id: "eu-1",
    }),
    await createForgedForm("/_emulator/provider?flow=trial&provider=P&state=s", { email: "eve@evil.example" }),
  ];
  return { page, emulator, waiting, forms };
}

/** The forms that reached the emulator according to its log, rejected or not. */
async function followPosts({ routerUrl, token }: TestEmulator) {
  const headers = { accept: "text/event-stream", authorization: `Bearer ${token}` };
  const log = await fetch(`${routerUrl}/_emulator/requests`, { headers, signal: AbortSignal.timeout(patienceMs) });
  return parsePosts(log.body!);
}

async function* parsePosts(log: NonNullable<Response["body"]>) {
  let text = "";
  for await (const chunk of log.pipeThrough(new TextDecoderStream())) {
    const events = `${text}${chunk}`.split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const { method, target, status } = JSON.parse(event.replace(/^data: /, ""));
      if (method === "POST" && target.startsWith("/_emulator/")) yield { method, target, status };
    }
  }
}

describe("page of another site", { skip }, () => {
  for (const [name, attack] of Object.entries(attacks)) {
    it(`cannot submit a form of the emulator: ${name}`, async (t) => {
      const { page, emulator, waiting, forms } = await prepareForgedForms(t);
      const posts = await followPosts(emulator);
      for (const form of forms) {
        const evil = await startSite(t, attack(form));
        evil.answer(({ url }, response) =>
          url === "/on"
            ? response.writeHead(307, { location: form.action }).end()
            : response.writeHead(200, { "content-type": "text/html" }).end(attack(form)),
        );
        for (const host of hosts) {
          await page.goto(evil.url.replace("127.0.0.1", host));
          const { value } = await posts.next();
          const { pathname } = new URL(form.action);
          assert.deepEqual(value, { method: "POST", target: pathname, status: 403 }, `from ${host}`);
        }
      }
      assert.deepEqual(pickStatusAndBody(await waiting.poll()), createOAuthError("authorization_pending"));
    });
  }

  it("cannot frame the emulator's forms", async (t) => {
    const { page, emulator, waiting } = await prepareForgedForms(t);
    const trustedUrls = [
      `${emulator.routerUrl}/_emulator/device?user_code=${waiting.user_code}`,
      `${emulator.routerUrl}/_emulator/provider?flow=trial&provider=P&state=s`,
      `${emulator.routerUrl}${authorizePath}?${formatParameters(authorizationRequest, {})}`,
      `${emulator.clusters[0]!.url}${authorizePath}?${formatParameters(authorizationRequest, {})}`,
    ];
    for (const url of trustedUrls) {
      const evil = await startSite(t, `<iframe src="${escapeAttribute(url)}"></iframe>`);
      for (const host of hosts) {
        await page.goto(evil.url.replace("127.0.0.1", host), { waitUntil: "load" });
        const [, frame] = page.frames();
        assert.equal(await frame!.evaluate("document.forms.length + document.links.length"), 0, `${url} from ${host}`);
      }
    }
  });

  it("cannot read the emulator's pages", async (t) => {
    const { page, emulator, waiting } = await prepareForgedForms(t);
    const evil = await startSite(t, "<h1>Evil</h1>");
    for (const host of hosts) {
      await page.goto(evil.url.replace("127.0.0.1", host));
      for (const path of [
        `/_emulator/device?user_code=${waiting.user_code}`,
        `${authorizePath}?${formatParameters(authorizationRequest, {})}`,
      ]) {
        const read = await page.evaluate(
          `fetch(${JSON.stringify(emulator.routerUrl + path)}).then((r) => r.text(), String)`,
        );
        assert.equal(read, "TypeError: Failed to fetch");
      }
    }
  });
});
