import type { TestContext } from "node:test";
import type { Tab } from "../support/browser.ts";
import { consoleAddress } from "../support/console.ts";
import { draft, sent } from "../support/contracts.ts";
import { emulator, type TestEmulator } from "../support/emulator.ts";
import { type Receiver, receiver } from "../support/receiver.ts";

/** Opens the console as `svc emulator open` does, and a view of it. */
export async function openConsole(page: Tab, world: TestEmulator, hash = "#/"): Promise<void> {
  await page.goto(await consoleAddress(world));
  await page.getByRole("region", { name: "Virtual time" }).getByText("2031-01-02").waitFor();
  if (hash !== "#/") await page.goto(viewOf(world, hash));
}

export const viewOf = (world: TestEmulator, hash: string): string => `${world.controlUrl}/ui/${hash}`;

export interface Story {
  readonly world: TestEmulator;
  /** It answers 503 until it is told otherwise; its webhook is number 1. */
  readonly hooks: Receiver;
}

/** The README's first minute: a webhook that fails, and a contract that it was to be told of. */
export async function failingWebhook(t: Pick<TestContext, "after">): Promise<Story> {
  const world = await emulator(t);
  const hooks = await receiver(t);
  hooks.answer((_, response) => void response.writeHead(503).end("<img src=x onerror=alert(1)> busy"));
  const webhook = { title: "Hooks", url: hooks.url, only_for_activities: ["CONTRACT_CREATED"] };
  await world.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
  await draft(world.api);
  return { world, hooks };
}

/** A name that would do harm as HTML. */
export const tag = "<img src=x onerror=document.title=`owned`>";

/** Something of everything, with long and hostile names, for looking at each view. */
export async function everything(t: Pick<TestContext, "after">): Promise<Story> {
  const story = await failingWebhook(t);
  const { world } = story;
  await world.ask("POST", "clock/advance", { body: { by: "PT20M" } });
  await sent(world.api, { contract_name: tag });
  const poc_details = { first_name: "Maximiliana".repeat(6), last_name: "Waldenburg", email: "max@acme.example" };
  await draft(world.api, {
    contract_name: `Rahmen\u202evertrag${"Rahmenvertrag".repeat(10)}`,
    counter_party_details: [{ is_individual: true, poc_details }],
  });
  await world.router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id: "demo-cli" } });
  await world.ask("POST", "faults", { body: { direction: "outgoing", effect: "tamper", webhook: 1, count: 2 } });
  await world.ask("PUT", "snapshots/prepared");
  await world.ask("POST", "contracts/T-2/hold", { body: {} });
  await world.router("GET", "/router/v1/clustrs");
  return story;
}
