import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's Chromium if it is on the path, preferably the headless shell, which needs a fifth of the time for a tab. */
export const browserExecutable = ["chromium-headless-shell", "chromium"]
  .flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)))
  .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Flags that disable updates, accounts and QUIC. */
const quiet = ["--disable-gpu", "--disable-quic", "--disable-sync", "--no-first-run"];

/** Time limit in ms for an element to appear. No page needs this long, so a failing test ends soon. */
const patienceMs = 15_000;

/** A tab of a new visitor, without cookies or cache. */
export interface Tab extends Page {
  /** Errors of scripts and violations of policies since the test began. */
  readonly complaints: readonly string[];
}

let sharedBrowser: Promise<Browser> | undefined;

/** Returns the browser of this process, launched with an empty profile at first use and after a crash. */
function getBrowser(): Promise<Browser> {
  sharedBrowser ??= chromium
    .launch({ executablePath: browserExecutable!, args: quiet })
    .then((launched) => launched.on("disconnected", () => (sharedBrowser = undefined)));
  return sharedBrowser;
}

async function openPage(options?: BrowserContextOptions) {
  const context = await (await getBrowser()).newContext(options);
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return Object.assign(page, { complaints });
}

const viewport = { width: 1280, height: 720 };

let usedInTurn: ReturnType<typeof openPage> | undefined;

/** Creating a profile and a renderer costs more than opening a plain page in a shared tab. */
async function reuseTab(): Promise<Tab> {
  if (!usedInTurn || (await usedInTurn).isClosed()) usedInTurn = openPage({ viewport });
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
 * Provides the browser of the test files of a process, which is closed after the last test. Pass the result to
 * `describe`, which skips the tests if no browser is installed.
 */
export function createTestBrowser(): {
  readonly skip: string | false;
  /** Opens a tab that is closed when the test ends, before anything that the test started earlier. */
  tab(t: Pick<TestContext, "after">, options?: BrowserContextOptions): Promise<Tab>;
  /** Opens a shared tab for pages that store only cookies. Cookies and settings of the previous test are cleared. */
  tabInTurn(): Promise<Tab>;
} {
  after(async () => (await sharedBrowser)?.close());
  return {
    skip: browserExecutable === undefined && "Chromium is not on the path (Debian: apt-get install chromium)",
    async tab(t, options) {
      const page = await openPage(options);
      t.after(() => page.context().close());
      return page;
    },
    tabInTurn: reuseTab,
  };
}
