import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's Chromium, if it is on the path; without its windows, where that is there: a tab costs a fifth then. */
export const executable = ["chromium-headless-shell", "chromium"]
  .flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)))
  .find(runs);

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Nothing but the pages of a test: no updates, no accounts, no second protocol. */
const quiet = ["--disable-gpu", "--disable-quic", "--disable-sync", "--no-first-run"];

/** How long a button may take to appear: far more than any page needs, so that a failing test ends soon. */
const patienceMs = 15_000;

/** A tab of somebody who has never been here: no cookies, nothing cached. */
export interface Tab extends Page {
  /** What the browser complained of since the test began: refused by a policy, thrown by a script. */
  readonly complaints: readonly string[];
}

let started: Promise<Browser> | undefined;

/** The browser of this process: begun with an empty profile for the first tab, and again where it was lost. */
function running(): Promise<Browser> {
  started ??= chromium
    .launch({ executablePath: executable!, args: quiet })
    .then((browser) => browser.on("disconnected", () => (started = undefined)));
  return started;
}

async function opened(options?: BrowserContextOptions) {
  const context = await (await running()).newContext(options);
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return Object.assign(page, { complaints });
}

/** The window of a tab that tests use in turn. */
const viewport = { width: 1280, height: 720 };

let usedInTurn: ReturnType<typeof opened> | undefined;

/** A profile and a renderer of its own cost a test more than the plain page that it opens in them. */
async function tabInTurn(): Promise<Tab> {
  if (!usedInTurn || (await usedInTurn).isClosed()) usedInTurn = opened({ viewport });
  const page = await usedInTurn;
  await page.context().clearCookies();
  await page.unrouteAll();
  await page.setExtraHTTPHeaders({});
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(viewport);
  page.complaints.length = 0;
  return page;
}

/**
 * The browser of the test files of a process: ended after the last test. Where it is not installed, `skip` says so: give
 * it to `describe`.
 */
export function browser(): {
  readonly skip: string | false;
  /** Closed when the test ends, before anything that the test started earlier. */
  tab(t: Pick<TestContext, "after">, options?: BrowserContextOptions): Promise<Tab>;
  /** For pages that keep nothing in the browser but cookies: those are gone, and so is what the test before set. */
  tabInTurn(): Promise<Tab>;
} {
  after(async () => (await started)?.close());
  return {
    skip: executable === undefined && "Chromium is not on the path (Debian: apt-get install chromium)",
    async tab(t, options) {
      const page = await opened(options);
      t.after(() => page.context().close());
      return page;
    },
    tabInTurn,
  };
}
