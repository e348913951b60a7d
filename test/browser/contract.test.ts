import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { type ContractIds, createDraftContract, createSentContract, getContractStatus } from "../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { getSigningLink } from "../support/identity/recipient-page.ts";
import { startSite } from "./every-page.ts";

const { skip, tabInTurn } = createTestBrowser();
const jo = "jo@acme.example";

interface Scene {
  readonly page: Tab;
  readonly emulator: TestEmulator;
  readonly contract: ContractIds;
  readonly link: string;
}

async function prepareContractPage(t: TestContext, overrides: object = {}): Promise<Scene> {
  const page = await tabInTurn();
  const emulator = await startTestEmulator(t);
  const contract = await createSentContract(emulator.api, overrides);
  return { page, emulator, contract, link: await getSigningLink(emulator, contract, jo) };
}

const press = (page: Pick<Tab, "getByRole">, name: string) => page.getByRole("button", { name }).click();

describe("contract page in a browser", { skip }, () => {
  it("lets a user read, comment and sign without duplicate submissions", async (t) => {
    const { page, emulator, contract, link } = await prepareContractPage(t);
    await page.goto(link);
    const opens = page.waitForEvent("popup");
    const reads = page
      .context()
      .waitForEvent("response", (response) => new URL(response.url()).pathname === "/contracts/T-1/document");
    await page.getByRole("link", { name: "Read the PDF" }).click();
    assert.equal((await reads).headers()["content-type"], "application/pdf");
    await (await opens).close();

    await page.getByLabel("Comment").fill("Why three seats?");
    await press(page, "Add the comment");
    await page.getByText("Why three seats?").waitFor();
    await page.reload();
    assert.equal(await page.getByText("Why three seats?").count(), 1);
    await page.getByLabel("Note").fill("Fine");
    await press(page, "Sign");
    await page.getByText("Signed 2031-01-02").waitFor();
    await page.getByRole("status").getByText("You signed this contract on 2031-01-02 at 03:04 UTC.").waitFor();
    await page.getByText("No pending actions.").waitFor();
    assert.equal(await page.getByText("It is not your turn").count(), 0);
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
    assert.deepEqual(page.complaints, []);
  });

  it("supports use by keyboard alone", async (t) => {
    const { page, emulator, contract, link } = await prepareContractPage(t);
    await page.goto(link);
    const stops: string[] = [];
    for (let stop = 0; stop < 6; stop += 1) {
      await page.keyboard.press("Tab");
      stops.push(
        await page.evaluate("document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent"),
      );
    }
    assert.deepEqual(
      stops.map((name) => name.trim()),
      ["Read the PDF (opens in a new tab)", "Note (optional):", "Sign", "Decline", "Comment:", "Add the comment"],
    );
    for (const key of ["Shift+Tab", "Shift+Tab", "Enter"]) await page.keyboard.press(key);
    await page.getByText("It cannot be signed until it is sent again.").waitFor();
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN", "asked first");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Too many seats");
    for (const key of ["Tab", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("status").getByText("You declined to sign this contract").waitFor();
    await page.getByText("Too many seats").waitFor();
    await page.getByText("Waiting for Ada Keller to send it again.").waitFor();
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
  });

  it("preserves the input if the contract has changed in the meantime", async (t) => {
    const { page, emulator, contract, link } = await prepareContractPage(t);
    await page.goto(link);
    const body = { external_metadata: { id: "deal-1" } };
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/external_metadata`, { body });
    await page.getByLabel("Note").fill("Looks good");
    await press(page, "Sign");
    const alarm = await page.getByRole("alert").textContent();
    assert.equal(
      alarm,
      "The contract has changed since the page was loaded, or the form was already sent. Review the contract again.",
    );
    assert.equal(await page.getByLabel("Note").inputValue(), "Looks good");
    await press(page, "Sign");
    await page.getByText("Signed 2031-01-02").waitFor();
  });

  it("works in a sandboxed frame of a customer's page at another address", async (t) => {
    for (const sandbox of ["", ' sandbox="allow-forms allow-same-origin"']) {
      const { page, emulator, contract } = await prepareContractPage(t, { contract_template_id: 104 });
      const path = `/api/v2.1/public/embedded/contracts/${contract.number}/counter_party/?cp_email_id=${jo}`;
      const { url } = (await emulator.api("GET", path)).body as { url: string };
      const customer = await startSite(
        t,
        `<iframe title="contract" src="${url.replaceAll("&", "&amp;")}"${sandbox}></iframe>`,
      );
      await page.goto(customer.url.replace("127.0.0.1", "customer.localhost"));
      const frame = page.frameLocator("iframe");
      await press(frame, "Complete the review");
      await press(frame, "Sign");
      await frame.getByText("Signed 2031-01-02").waitFor();
      assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
      assert.deepEqual(page.complaints, []);
    }
  });

  it("explains why a form cannot be submitted in a sandbox without an origin", async (t) => {
    const { page, emulator, contract, link } = await prepareContractPage(t);
    const src = link.replaceAll("&", "&amp;");
    const customer = await startSite(t, `<iframe title="contract" src="${src}" sandbox="allow-forms"></iframe>`);
    await page.goto(customer.url);
    const frame = page.frameLocator("iframe");
    await press(frame, "Sign");
    await frame.getByText("A sandboxed frame requires allow-same-origin and allow-forms.").waitFor();
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
  });

  it("rejects a form of another site, even with the right fields", async (t) => {
    const { page, emulator, contract, link } = await prepareContractPage(t);
    await page.goto(link);
    const token = await page.locator("input[name=form_token]").first().inputValue();
    const evil = await startSite(
      t,
      `<form method="post" action="${link.replaceAll("&", "&amp;")}"><input name="form_token" value="${token}">
<input name="act" value="sign"></form><script>document.forms[0].submit()</script>`,
    );
    for (const host of ["evil.localhost", "127.0.0.1"]) {
      await page.goto(evil.url.replace("127.0.0.1", host));
      await page.getByRole("heading", { name: "Request blocked" }).waitFor();
    }
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
  });

  it("shows names with markup or right-to-left text unchanged", async (t) => {
    const page = await tabInTurn();
    const emulator = await startTestEmulator(t);
    const name = "<script>alert(1)</script>";
    const poc_details = { first_name: "\u202eevil\u202c", last_name: "<img src=x onerror=alert(1)>", email: jo };
    const contract = await createDraftContract(emulator.api, {
      contract_name: name,
      counter_party_details: [{ is_individual: false, organization_name: name, poc_details }],
    });
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await page.goto(await getSigningLink(emulator, contract, jo));
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    assert.equal(await page.getByRole("img").count(), 0);
    await press(page, "Sign");
    await page.getByText("Signed 2031-01-02").waitFor();
    assert.deepEqual(page.complaints, []);
  });
});
