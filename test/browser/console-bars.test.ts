import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { openConsole, startFailingWebhookStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

/** The sticky bars that cover the focused element. */
const findCoveredScript = `(() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const out = [];
  for (const bar of document.querySelectorAll(".top, .foot, nav")) {
    if (bar.contains(document.activeElement) || getComputedStyle(bar).position !== "sticky") continue;
    const edge = bar.getBoundingClientRect();
    if (top < edge.bottom - 1 && bottom > edge.top + 1) out.push(bar.className || bar.tagName);
  }
  return out;
})()`;

describe("console toolbars", { skip }, () => {
  it("shows the result of a button in a narrow window on a long page", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    for (let count = 0; count < 30; count += 1) await createDraftContract(emulator.api);
    await page.setViewportSize({ width: 390, height: 640 });
    await openConsole(page, emulator, "#/deliveries");
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    const outcome = page.getByRole("status").getByText("Now 03:09:05");
    await outcome.waitFor();
    // The last window is that of 1280 by 1024 pixels at a zoom of 400%.
    for (const [width, windowHeight] of [
      [390, 640],
      [320, 256],
    ] as const) {
      await page.setViewportSize({ width, height: windowHeight });
      const { x, y, height } = (await outcome.boundingBox())!;
      assert.ok(y + height <= windowHeight, `it stands at ${y}`);
      const topmost = `document.elementFromPoint(${x + 5}, ${y + height / 2}).closest(".outcome")`;
      assert.equal(await page.evaluate(`${topmost} !== null`), true, `${width} px`);
    }
  });

  it("scrolls to the panel of the clock in a window of 320 by 256 pixels", async (t) => {
    const page = await tab(t);
    await page.setViewportSize({ width: 320, height: 256 });
    await openConsole(page, await startTestEmulator(t), "#/deliveries");
    await page.getByRole("button", { name: "To …", exact: true }).click();
    await page.getByRole("button", { name: "Advance", exact: true }).click();
    await page.getByRole("status").getByText("Now 04:04:00").waitFor();
  });

  it("leaves the focused row of a long list uncovered", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    for (let count = 0; count < 30; count += 1) await createDraftContract(emulator.api);
    await openConsole(page, emulator, "#/deliveries");
    const rows = page.getByRole("list", { name: "Deliveries" }).getByRole("link");
    for (const [width, height] of [
      [1280, 600],
      [900, 600],
      [390, 640],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.getByRole("button", { name: "+5 min", exact: true }).click();
      await page.getByRole("status").getByText("Now ").waitFor();
      await rows.first().focus();
      for (const key of ["Tab", "Shift+Tab"]) {
        for (let count = 0; count < 25; count += 1) {
          await page.keyboard.press(key);
          assert.deepEqual(await page.evaluate(findCoveredScript), [], `${key} ${count}, ${width} px`);
        }
      }
    }
  });
});
