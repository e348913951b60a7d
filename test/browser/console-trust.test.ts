import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { openConsole } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

/** A page that reads the session and creates a token with it, which requires an administrator. */
const attack = `<!doctype html><title>quiet</title><script>
document.title = "ran";
fetch("/_emulator/tokens/mine", {
  method: "POST",
  headers: { authorization: "Bearer " + localStorage.getItem("svc-session"), "content-type": "application/json" },
  body: JSON.stringify({ role: "admin" }),
}).then(({ status }) => { document.title = "answered " + status; });
</script>`;

/** Faults, created with a token of the role operate, that serve the page at the console's origin. */
const scriptedRows: Readonly<Record<string, object>> = {
  "a fault": { status: 200, response_headers: { "content-type": "text/html" }, response_body: attack },
  "a fault with its own content security policy": {
    status: 503,
    response_headers: {
      "Content-Type": "text/html; charset=utf-8",
      "content-security-policy": "sandbox allow-scripts allow-same-origin",
      "x-content-type-options": "none",
    },
    response_body: attack,
  },
  "a fault with an SVG image": {
    status: 200,
    response_headers: { "content-type": "image/svg+xml" },
    response_body: '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "ran"</script></svg>',
  },
};

/** Opens the console as an administrator, then a link to the faulty address. */
async function openConsoleWithFault(t: TestContext, rule: object): Promise<{ page: Tab; emulator: TestEmulator }> {
  const page = await tab(t);
  const emulator = await startTestEmulator(t);
  const { body } = await emulator.control("POST", "tokens/ci", { body: { role: "operate" } });
  const headers = { authorization: `Bearer ${(body as { token: string }).token}` };
  const fault = { direction: "incoming", service: "router", ...rule };
  assert.equal((await emulator.router("POST", "/_emulator/faults", { body: fault, headers })).status, 201);
  await openConsole(page, emulator);
  await page.goto(`${emulator.routerUrl}/router/v1/clusters/`);
  return { page, emulator };
}

describe("administrator's session in a browser", { skip }, () => {
  for (const [label, rule] of Object.entries(scriptedRows)) {
    it(`blocks a script in ${label}`, async (t) => {
      const { page, emulator } = await openConsoleWithFault(t, rule);
      const origin = await page.evaluate("self.origin");
      assert.equal(origin, "null", "it is shown in an origin of its own");
      assert.notEqual(await page.title(), "ran");
      const names = ((await emulator.control("GET", "tokens")).body as { name: string }[]).map(({ name }) => name);
      assert.deepEqual(names, ["ci"]);
    });
  }

  it("hides half of the session from scripts, which makes the other half useless", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    const cookies = await page.evaluate("document.cookie");
    const token = await page.evaluate('localStorage.getItem("svc-session")');
    assert.equal(cookies, "");
    const [cookie, ...others] = await page.context().cookies(emulator.controlUrl);
    const { httpOnly, sameSite, path } = cookie!;
    assert.deepEqual([others, httpOnly, sameSite, path], [[], true, "Strict", "/_emulator"]);
    const stolen = { headers: { authorization: `Bearer ${token}` } };
    assert.equal((await emulator.router("GET", "/_emulator/clock", stolen)).status, 401);
  });
});
