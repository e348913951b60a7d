/**
 * Creates the README's picture of the console, `fixtures/console.png`: `npm run picture`, after a build, with Chromium
 * on the path. The run is deterministic, so the picture changes only with the page. `pngquant --quality 70-95 --strip`
 * then reduces it to a third, because the package contains it.
 */
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { startEmulator as Start } from "../../emulator/index.ts";
import { browserExecutable } from "../support/browser.ts";

const root = join(import.meta.dirname, "../..");
const { startEmulator } = (await import(join(root, "dist/emulator.js"))) as { startEmulator: typeof Start };

const emulator = await startEmulator({
  ephemeral: true,
  deterministic: true,
  clock: { mode: "manual", start: "2031-01-02T03:04:05Z" },
  file: join(mkdtempSync(join(tmpdir(), "svc-picture-")), "emulator.json"),
});
const [cluster] = emulator.clusters;
const post = async (url: string, headers: Record<string, string>, body: object): Promise<unknown> =>
  (
    await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
  ).json();
const key = { "client-id": cluster!.clientId ?? "", "client-secret": cluster!.clientSecret ?? "" };
const postToApi = (path: string, body: object) => post(`${cluster!.url}/api/v2.1/public/${path}`, key, body);
const postToControl = (path: string, body: object) =>
  post(`${emulator.controlUrl}/${path}`, { authorization: `Bearer ${emulator.token}` }, body);

// The commands of the README's example, and a later contract.
const createContract = (name: string) =>
  postToApi("contracts/", {
    contract_template_id: 101,
    contract_name: name,
    contract_data: {},
    counter_party_details: [{ is_individual: true, poc_details: { first_name: "Jo", email: "jo@acme.example" } }],
  });
const works = createServer((request, response) => request.resume().on("end", () => response.end())).listen(3000);
const only_for_activities = ["CONTRACT_CREATED"];
await postToApi("webhooks/", { title: "Billing", url: "http://localhost:9/hooks", only_for_activities });
await postToApi("webhooks/", { title: "Search index", url: "http://localhost:3000/hooks", only_for_activities });
await createContract("Mutual NDA with Acme");
await postToControl("clock/advance", { by: "PT20M" });
await createContract("Order form");
await postToControl("clock/advance", { by: "PT6M" });

const { url } = (await postToControl("sessions/codes", {})) as { url: string };
const browser = await chromium.launch({ executablePath: browserExecutable!, args: ["--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1180, height: 560 }, reducedMotion: "reduce" });
await page.goto(url);
await page.getByText("connection refused").first().waitFor();
await page.screenshot({ path: join(root, "fixtures/console.png") });
await browser.close();
await emulator.close();
works.close();
