import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { createTokenAddress, getViewUrl, openConsole } from "./console-scene.ts";
import { startSite } from "./every-page.ts";

const { skip, tab } = createTestBrowser();

describe("console session in a browser", { skip }, () => {
  it("signs in by its address and stays signed in after a reload", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const address = await createConsoleAddress(emulator);
    await page.goto(address);
    await page.getByText("2031-01-02").first().waitFor();
    assert.equal(page.url(), `${emulator.controlUrl}/ui/`);
    await page.reload();
    await page.getByText("2031-01-02").first().waitFor();
    assert.deepEqual(page.complaints, []);
    await page.goto("about:blank");
    await page.goto(address);
    await page.getByText("2031-01-02").first().waitFor();
    const forbidden = "Failed to load resource: the server responded with a status of 403 (Forbidden)";
    assert.deepEqual(page.complaints, [forbidden], "the code was used, and nobody is signed out for that");
  });

  it("says why it cannot sign in, such as without a response", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.route("**/_emulator/sessions", (route) => route.abort());
    await page.goto(await createConsoleAddress(emulator));
    await page.getByText("The emulator does not respond.").waitFor();
    await page.getByText("You are not signed in.").waitFor();
  });

  it("says that it cannot sign in if the browser blocks cookies and site data", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const blocking = `Object.defineProperty(window, "localStorage", { get() { throw new DOMException("Denied", "SecurityError"); } })`;
    await page.addInitScript(blocking);
    await page.goto(await createConsoleAddress(emulator));
    await page.getByRole("alert").getByText("The browser blocks cookies and site data.").waitFor();
  });

  it("disables buttons without permission and explains why", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await emulator.control("PUT", "snapshots/prepared");
    const stateOf = async (name: string) => {
      const button = page.getByRole("button", { name, exact: true }).first();
      await button.waitFor();
      return [await button.isDisabled(), await button.getAttribute("title")];
    };
    const off = (needs: string, has: string) => [
      true,
      `This requires a token with the role ${needs}. Your token has the role ${has}.`,
    ];
    const allowed = [false, null];
    for (const [role, passing, restoring] of [
      ["read", off("operate", "read"), off("admin", "read")],
      ["operate", allowed, off("admin", "operate")],
      ["admin", allowed, allowed],
    ] as const) {
      await page.goto("about:blank");
      await page.goto(await createTokenAddress(emulator, role));
      assert.deepEqual(await stateOf("+5 min"), passing, role);
      // A reload uses the stored session.
      await page.goto(getViewUrl(emulator, "#/snapshots"));
      await page.reload();
      assert.deepEqual(await stateOf("Restore prepared"), restoring, role);
      assert.equal(await page.getByLabel("Clock mode", { exact: true }).isDisabled(), role === "read");
    }
    assert.deepEqual(page.complaints, []);
  });

  it("explains to keyboard users why a button is disabled", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.goto(await createTokenAddress(emulator, "read"));
    await page.getByRole("button", { name: "+5 min", exact: true }).press("Enter");
    const reason = "This requires a token with the role operate. Your token has the role read.";
    await page.getByRole("status").filter({ hasText: reason }).waitFor();
    assert.equal(emulator.clock.now(), Date.parse("2031-01-02T03:04:05Z"));
  });

  it("shows the permissions of a token in a narrow window without overflow", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(await createTokenAddress(emulator, "read"));
    await page.getByText("Signed in with role read").waitFor();
    const { x, width } = (await page.locator(".search input").boundingBox())!;
    assert.ok(x + width <= 320, `the search ends at ${x + width}`);
  });

  it("says when a session ends after its token was revoked", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.goto(await createTokenAddress(emulator, "operate", "anna"));
    await page.getByText("2031-01-02").first().waitFor();
    await emulator.control("DELETE", "tokens/anna");
    await page
      .getByText("A session ends with its emulator, with its token, and after twelve hours.", { exact: false })
      .waitFor();
  });

  it("prevents framing, whether or not a user is signed in", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    const framed = `<iframe src="${getViewUrl(emulator, "#/")}"></iframe>`;
    const { url } = await startSite(t, framed);
    for (const address of [url, url.replace("127.0.0.1", "localhost")]) {
      await page.goto(address);
      const [, frame] = page.frames();
      await frame!.waitForLoadState("load");
      assert.equal(await frame!.locator("#console").count(), 0, address);
      assert.equal(await frame!.getByText("2031-01-02").count(), 0, address);
    }
  });

  it("rejects requests from other sites for the page, the stream and a session", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const code = new URL(await createConsoleAddress(emulator)).hash.slice("#code=".length);
    const { url } = await startSite(t, "");
    await page.goto(url);
    const heard = await page.evaluate(
      async ([control, body]) => {
        const getStatus = (path: string, init?: RequestInit) =>
          fetch(`${control}${path}`, init).then(
            ({ status }) => status,
            () => "nothing",
          );
        return [
          await getStatus("/ui/"),
          await getStatus("/events"),
          await getStatus("/sessions", {
            method: "POST",
            body: body!,
            headers: { "content-type": "application/json" },
          }),
          await getStatus("/sessions", { method: "POST", body: body! }),
        ];
      },
      [emulator.controlUrl, JSON.stringify({ code })],
    );
    assert.deepEqual(heard, ["nothing", "nothing", "nothing", "nothing"]);
    await page.goto(getViewUrl(emulator, `#code=${code}`));
    await page.getByText("2031-01-02").first().waitFor();
  });
});
