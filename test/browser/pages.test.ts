import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { listViolationsByScheme } from "./barriers.ts";
import { createCrmBForm, createStage, everyPage, startSite } from "./every-page.ts";

const { skip, tabInTurn } = createTestBrowser();

/** The number of links of each page that has links. */
const linksOf: Readonly<Record<string, number>> = {
  "sign-in": 4,
  "sign-in of an unknown user": 1,
  "sign-in of a user at another cluster": 1,
  // The link to the contract's document.
  contract: 1,
  "contract that waits for the user of the link": 1,
  "contract that waits for another user": 1,
  "contract with long names and a rejected form": 1,
  "decline form of a contract": 1,
  "contract declined by the user of the link": 1,
};

/** Elements that overflow the window, and user codes that are broken over lines. */
const overflows = `(() => {
  const out = document.documentElement.scrollWidth > innerWidth ? ["the page is " + document.documentElement.scrollWidth] : [];
  for (const code of document.querySelectorAll(".user-code")) {
    const text = document.createRange();
    text.selectNodeContents(code);
    if (text.getClientRects().length !== 1) out.push("the code is broken");
  }
  return out;
})()`;

describe("emulator pages in a browser", { skip }, () => {
  for (const [name, open] of Object.entries(everyPage)) {
    it(`is accessible in small and wide windows, light and dark, without dead links: ${name}`, async (t) => {
      const page = await tabInTurn();
      await open(await createStage(t, page));
      assert.equal(await page.getByRole("main").getByRole("heading", { level: 1 }).count(), 1);
      for (const width of [320, 375, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await page.evaluate(overflows), [], `${width} px`);
        if (width === 320) continue;
        assert.deepEqual(await listViolationsByScheme(page), { light: [], dark: [] }, `${width} px`);
      }
      const backgrounds = new Set<string>();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        backgrounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
      }
      assert.equal(backgrounds.size, 2);
      const links: string[] = await page.evaluate("[...document.links].map(({ href }) => href)");
      for (const link of links) assert.equal((await page.request.get(link)).status(), 200, link);
      assert.equal(links.length, linksOf[name] ?? 0);
    });
  }

  it("allows the CRM to frame the app in crm_b and sends the front end the context", async (t) => {
    const page = await tabInTurn();
    const fixture = await createStage(t, page);
    const crm = await startSite(
      t,
      `<iframe name="canvas" title="canvas"></iframe>${createCrmBForm(fixture, "canvas")}`,
    );
    await page.goto(crm.url);
    await page.frameLocator("iframe").frameLocator("iframe").getByText('"organization":{"name":"Northwind"}').waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("allows any site to frame a contract page", async (t) => {
    const page = await tabInTurn();
    const fixture = await createStage(t, page);
    await everyPage.contract!(fixture);
    const around = await startSite(t, `<iframe title="contract" src="${page.url()}"></iframe>`);
    await page.goto(around.url);
    await page.frameLocator("iframe").getByRole("heading", { name: "NDA with Acme" }).waitFor();
    assert.deepEqual(page.complaints, []);
  });
});
