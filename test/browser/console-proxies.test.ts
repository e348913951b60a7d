import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { openConsole } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

const events = /_emulator\/events/;

describe("console behind a proxy", { skip }, () => {
  it("does not take the error page of a proxy for a response of the emulator", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    const foot = page.getByRole("contentinfo");
    const badGateway = { status: 504, contentType: "text/html", body: "<h1>Gateway Time-out</h1>" };
    await page.route("**/clock/advance", (route) => route.fulfill(badGateway), { times: 1 });
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("The emulator responds again. Check whether the last action took effect").waitFor();
    assert.equal(await foot.getByText("responded with status").count(), 0);
  });

  it("names the address instead of a command if the emulator is on another machine", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t, { publicUrl: "http://sandbox.example:8443/team" });
    const remote = "http://sandbox.example:8443/team/_emulator";
    await page.route(`${remote}/**`, async (route) => {
      const url = route.request().url().replace(remote, emulator.controlUrl);
      const headers = { ...route.request().headers(), host: "sandbox.example:8443" };
      if (events.test(url)) return route.abort();
      return route.fulfill({ response: await route.fetch({ url, headers }) });
    });
    await page.goto((await createConsoleAddress(emulator)).replace(emulator.controlUrl, remote));
    await page.getByText("2031-01-02").first().waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.route(`${remote}/**`, (route) => route.abort());
    const foot = page.getByRole("contentinfo");
    await foot.getByText("Check the connection to sandbox.example:8443.").waitFor();
    assert.equal(await foot.getByText("svc emulator start").count(), 0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});
