import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Tab } from "../support/browser.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules of axe that go by colours: all others say the same of a page in the dark. */
const ofColours = ["color-contrast", "link-in-text-block"];

/**
 * What axe finds in each colour scheme that keeps somebody from using the page. `reducedMotion`: nothing moves, so that no
 * colour is looked at on its way to another.
 */
export async function barriersInEachScheme(page: Tab): Promise<Readonly<Record<"light" | "dark", string[]>>> {
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  const dark = await barriers(page, ofColours);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  return { light: await barriers(page), dark };
}

/** The same of the page as it stands; `only`: by these rules. */
export async function barriers(page: Tab, only?: readonly string[]): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  // Of what is in order nothing is read, so axe need not describe it; nor does a selector say more than the element.
  const told = { resultTypes: ["violations"], selectors: false };
  const options = JSON.stringify({ iframes: false, ...told, ...(only && { runOnly: only }) });
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact !== "minor")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
