import { lookupTable } from "../../base/object.ts";
import type { Command } from "../command.ts";

/** The hand-written commands of a group; each stands next to the derived ones, or for one of the same words. */
export const writtenCommands = lookupTable<() => Promise<{ readonly commands: readonly Command[] }>>({
  dev: () => import("./dev.ts"),
  run: () => import("./run.ts"),
  tour: () => import("./tour.ts"),
  emulator: () => import("./emulator/index.ts"),
  doctor: () => import("./doctor.ts"),
  contracts: () => import("./contracts/index.ts"),
  intake: () => import("./intake.ts"),
  files: () => import("./files.ts"),
  webhooks: () => import("./webhooks/index.ts"),
  verify: () => import("./verify/index.ts"),
  router: () => import("./router/index.ts"),
  auth: () => import("./auth/index.ts"),
  "chat-a": () => import("./chat-a.ts"),
  "chat-b": () => import("./chat-b.ts"),
  "crm-a": () => import("./crm-a.ts"),
  "crm-b": () => import("./crm-b.ts"),
  billing: () => import("./billing.ts"),
  api: () => import("./api.ts"),
  config: () => import("./config.ts"),
  openapi: () => import("./openapi.ts"),
  completion: () => import("./completion.ts"),
  agent: () => import("./agent.ts"),
  mcp: () => import("./mcp.ts"),
});

/** Those whose group holds much that they have no use for, and that scripts run again and again. */
const loadedAlone = lookupTable<() => Promise<{ readonly commands: readonly Command[] }>>({
  "router show-email": () => import("./router/show-email.ts"),
});

/** The hand-written command of these words. */
export async function writtenCommand(words: readonly string[]): Promise<Command> {
  const written = await (loadedAlone[words.join(" ")] ?? writtenCommands[words[0]!])?.();
  const found = written?.commands.find((command) => command.words.join(" ") === words.join(" "));
  if (!found) throw new Error(`Command ${words.join(" ")} not found in this build; rebuild with npm run build`);
  return found;
}
