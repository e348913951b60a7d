import { lookupTable } from "../base/object.ts";
import type { Command } from "./command.ts";

/** The hand-written commands of a group; each stands next to the derived ones, or for one of the same words. */
export const writtenCommands = lookupTable<() => Promise<{ readonly commands: readonly Command[] }>>({
  dev: () => import("./commands/dev.ts"),
  run: () => import("./commands/run.ts"),
  tour: () => import("./commands/tour.ts"),
  emulator: () => import("./commands/emulator/index.ts"),
  doctor: () => import("./commands/doctor.ts"),
  contracts: () => import("./commands/contracts/index.ts"),
  intake: () => import("./commands/intake.ts"),
  files: () => import("./commands/files.ts"),
  webhooks: () => import("./commands/webhooks/index.ts"),
  verify: () => import("./commands/verify/index.ts"),
  router: () => import("./commands/router/index.ts"),
  auth: () => import("./commands/auth/index.ts"),
  "chat-a": () => import("./commands/chat-a.ts"),
  "chat-b": () => import("./commands/chat-b.ts"),
  "crm-a": () => import("./commands/crm-a.ts"),
  "crm-b": () => import("./commands/crm-b.ts"),
  billing: () => import("./commands/billing.ts"),
  api: () => import("./commands/api.ts"),
  config: () => import("./commands/config.ts"),
  openapi: () => import("./commands/openapi.ts"),
  completion: () => import("./commands/completion.ts"),
  agent: () => import("./commands/agent.ts"),
  mcp: () => import("./commands/mcp.ts"),
});

/** Those whose group holds much that they have no use for, and that scripts run again and again. */
const loadedAlone = lookupTable<() => Promise<{ readonly commands: readonly Command[] }>>({
  "router show-email": () => import("./commands/router/show-email.ts"),
});

/** The hand-written command of these words. */
export async function writtenCommand(words: readonly string[]): Promise<Command> {
  const written = await (loadedAlone[words.join(" ")] ?? writtenCommands[words[0]!])?.();
  const found = written?.commands.find((command) => command.words.join(" ") === words.join(" "));
  if (!found) throw new Error(`Command ${words.join(" ")} not found in this build; rebuild with npm run build`);
  return found;
}
