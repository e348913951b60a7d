import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { createOAuthError, type Device, startDeviceAuthorization } from "../support/identity/devices.ts";

const { skip, tabInTurn } = createTestBrowser();

async function prepareDevicePage(t: TestContext): Promise<{ page: Tab; emulator: TestEmulator; waiting: Device }> {
  const page = await tabInTurn();
  const emulator = await startTestEmulator(t);
  return { page, emulator, waiting: await startDeviceAuthorization(emulator) };
}

/** The subject of a device's tokens. */
async function getOwnerEmail({ router }: TestEmulator, { poll }: Device): Promise<string> {
  const { access_token } = (await poll()).body as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}` };
  return ((await router("GET", "/api/v1/oauth/userinfo/", { headers })).body as { email: string }).email;
}

const press = (page: Tab, name: string) => page.getByRole("button", { name }).click();

describe("device page in a browser", { skip }, () => {
  it("lets a user enter the code and approve the device", async (t) => {
    const { page, emulator, waiting } = await prepareDevicePage(t);
    await page.goto(`${emulator.routerUrl}/_emulator/device`);
    await page.getByLabel("Code on the device").fill(waiting.user_code.toLowerCase().replace("-", " "));
    await press(page, "Continue");
    await page.getByText(waiting.user_code).waitFor();
    await page.getByLabel("Cluster").selectOption("us-1");
    await page.getByLabel("E-mail address").fill("eli@fabrikam.example");
    await press(page, "Approve");
    await page.getByText("The device is approved. You can close this page.").waitFor();
    assert.equal(await getOwnerEmail(emulator, waiting), "eli@fabrikam.example");
    assert.deepEqual(page.complaints, []);
  });

  for (const [button, message, polled] of [
    ["Approve", "The device is approved.", { status: 200 }],
    ["Deny", "The device is denied.", createOAuthError("access_denied")],
  ] as const) {
    it(`accepts "${button}" at verification_uri_complete under either host name`, async (t) => {
      const { page, emulator } = await prepareDevicePage(t);
      for (const name of ["127.0.0.1", "localhost"]) {
        const { body } = await emulator.router("POST", "/router/v1/oauth2.0/device/code/", {
          body: { client_id: "demo-cli" },
        });
        const { verification_uri_complete, device_code } = body as Record<string, string>;
        await page.goto(verification_uri_complete!.replace("127.0.0.1", name));
        await press(page, button);
        await page.getByText(message).waitFor();
        const response = await (await startDeviceAuthorization(emulator)).poll({ device_code });
        assert.deepEqual({ ...polled, ...pickStatusAndBody(response) }, { ...pickStatusAndBody(response), ...polled });
      }
      assert.deepEqual(page.complaints, []);
    });
  }

  it("allows approval after a link from another site", async (t) => {
    const { page, emulator, waiting } = await prepareDevicePage(t);
    const link = `${emulator.routerUrl}/_emulator/device?user_code=${waiting.user_code}`;
    await page.route("http://docs.localhost/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="${link}">Connect</a>` }),
    );
    await page.goto("http://docs.localhost/");
    await page.getByRole("link", { name: "Connect" }).click();
    await press(page, "Approve");
    await page.getByText("The device is approved.").waitFor();
    assert.equal(await getOwnerEmail(emulator, waiting), "ada@northwind.example");
  });

  it("prompts again for a wrong code or address and preserves the input", async (t) => {
    const { page, emulator, waiting } = await prepareDevicePage(t);
    await page.goto(`${emulator.routerUrl}/_emulator/device`);
    await page.getByLabel("Code on the device").fill("BBBB-BBBB");
    await press(page, "Continue");
    assert.equal(await page.getByRole("alert").textContent(), "No device has this code.");
    assert.equal(await page.getByLabel("Code on the device").inputValue(), "BBBB-BBBB");
    await page.getByLabel("Code on the device").fill(waiting.user_code);
    await press(page, "Continue");
    await page.getByLabel("Cluster").selectOption("us-1");
    await page.getByLabel("E-mail address").fill("ada@northwind.example");
    await press(page, "Approve");
    assert.equal(await page.getByRole("alert").textContent(), "That cluster has no active user with this address.");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), "ada@northwind.example");
    assert.equal(await page.getByLabel("Cluster").inputValue(), "us-1");
    await page.getByLabel("Cluster").selectOption("eu-1");
    await press(page, "Approve");
    await page.getByText("The device is approved.").waitFor();
    assert.equal(await getOwnerEmail(emulator, waiting), "ada@northwind.example");
  });
});
