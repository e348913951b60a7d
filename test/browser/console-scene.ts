import type { TestContext } from "node:test";
import type { Tab } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { createDraftContract, createSentContract } from "../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** Opens a view of the console like `svc emulator open`. */
export async function openConsole(page: Tab, emulator: TestEmulator, hash = "#/"): Promise<void> {
  await page.goto(await createConsoleAddress(emulator));
  await page.getByRole("region", { name: "Virtual time" }).getByText("2031-01-02").waitFor();
  if (hash !== "#/") await page.goto(getViewUrl(emulator, hash));
}

/** Returns an address that signs in with a new token of this role. */
export async function createTokenAddress(
  { control, controlUrl }: TestEmulator,
  role: "read" | "operate" | "admin",
  name = `${role}-token`,
): Promise<string> {
  const { body } = await control("POST", `tokens/${name}`, { body: { role } });
  return createConsoleAddress({ controlUrl, token: (body as { token: string }).token });
}

export const getViewUrl = (emulator: TestEmulator, hash: string): string => `${emulator.controlUrl}/ui/${hash}`;

export interface ConsoleFixture {
  readonly emulator: TestEmulator;
  /** Receiver that responds with 503 by default. Its webhook is number 1. */
  readonly hooks: Receiver;
}

/** Starts the README's example: a failing webhook and a contract that triggered it. */
export async function startFailingWebhookStory(t: Pick<TestContext, "after">): Promise<ConsoleFixture> {
  const emulator = await startTestEmulator(t);
  const hooks = await startReceiver(t);
  hooks.respond((_, response) => void response.writeHead(503).end("<img src=x onerror=alert(1)> busy"));
  const webhook = { title: "Hooks", url: hooks.url, only_for_activities: ["CONTRACT_CREATED"] };
  await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
  await createDraftContract(emulator.api);
  return { emulator, hooks };
}

/** A name that would be harmful as HTML. */
export const hostileTag = "<img src=x onerror=document.title=`owned`>";

/** Starts an emulator with all kinds of data, with long and hostile names, to check each view. */
export async function startFullStory(t: Pick<TestContext, "after">): Promise<ConsoleFixture> {
  const story = await startFailingWebhookStory(t);
  const { emulator } = story;
  await emulator.control("POST", "clock/advance", { body: { by: "PT20M" } });
  await createSentContract(emulator.api, { contract_name: hostileTag });
  const poc_details = { first_name: "Maximiliana".repeat(6), last_name: "Waldenburg", email: "max@acme.example" };
  await createDraftContract(emulator.api, {
    contract_name: `Rahmen\u202evertrag${"Rahmenvertrag".repeat(10)}`,
    counter_party_details: [{ is_individual: true, poc_details }],
  });
  await emulator.router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id: "demo-cli" } });
  await emulator.control("POST", "faults", { body: { direction: "outgoing", effect: "tamper", webhook: 1, count: 2 } });
  await emulator.control("PUT", "snapshots/prepared");
  await emulator.control("POST", "contracts/T-2/hold", { body: {} });
  await emulator.router("GET", "/router/v1/clustrs");
  return story;
}
