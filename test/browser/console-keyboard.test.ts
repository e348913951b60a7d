import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { browser } from "../support/browser.ts";
import { draft } from "../support/contracts.ts";
import { failingWebhook, openConsole } from "./console-scene.ts";

const { skip, tab } = browser();

/** What covers the thing that the keyboard is on: a bar that stays where it is while the page scrolls. */
const covered = `(() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const out = [];
  for (const bar of document.querySelectorAll(".top, .foot, nav")) {
    if (bar.contains(document.activeElement) || getComputedStyle(bar).position !== "sticky") continue;
    const edge = bar.getBoundingClientRect();
    if (top < edge.bottom - 1 && bottom > edge.top + 1) out.push(bar.className || bar.tagName);
  }
  return out;
})()`;

describe("the console, with the keyboard alone", { skip }, () => {
  it("goes to no row that a bar lies over, down a long list and up again", async (t) => {
    const page = await tab(t);
    const { world } = await failingWebhook(t);
    for (let count = 0; count < 30; count += 1) await draft(world.api);
    await openConsole(page, world, "#/deliveries");
    const rows = page.getByRole("list", { name: "Deliveries" }).getByRole("link");
    for (const [width, height] of [
      [1280, 600],
      [900, 600],
      [390, 640],
    ] as const) {
      await page.setViewportSize({ width, height });
      await rows.first().focus();
      for (const key of ["Tab", "Shift+Tab"]) {
        for (let count = 0; count < 25; count += 1) {
          await page.keyboard.press(key);
          assert.deepEqual(await page.evaluate(covered), [], `${key} ${count}, ${width} px`);
        }
      }
    }
  });
});
