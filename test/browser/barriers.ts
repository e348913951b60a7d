import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Tab } from "../support/browser.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules of axe about colors. All other rules have the same result in both color schemes. */
const ofColours = ["color-contrast", "link-in-text-block"];

/**
 * Lists the accessibility violations in each color scheme. `reducedMotion` disables animations, so that no color is
 * checked during a transition.
 */
export async function listViolationsByScheme(page: Tab): Promise<Readonly<Record<"light" | "dark", string[]>>> {
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  const dark = await listViolations(page, ofColours);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  return { light: await listViolations(page), dark };
}

/** Lists the accessibility violations of the page in its current state. `only` limits the rules. */
export async function listViolations(page: Tab, only?: readonly string[]): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  // Passing results and selectors are not used, so axe does not need to create them.
  const resultOptions = { resultTypes: ["violations"], selectors: false };
  const options = JSON.stringify({ iframes: false, ...resultOptions, ...(only && { runOnly: only }) });
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact !== "minor")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
