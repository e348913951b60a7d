import { lookupTable } from "../../base/object.ts";
import type { Command } from "../command.ts";

type CommandLoader = () => Promise<{ readonly commands: readonly Command[] }>;

/** Modules of all hand-written commands. Each command replaces or extends the derived command with its words. */
export const writtenModules: readonly (readonly [load: CommandLoader, ...commands: string[]])[] = [
  [() => import("../commands/dev.ts"), "dev"],
  [() => import("../commands/run.ts"), "run"],
  [() => import("../commands/tour.ts"), "tour"],
  [() => import("../commands/emulator/start.ts"), "emulator start"],
  [() => import("../commands/emulator/exec.ts"), "emulator exec"],
  [() => import("../commands/emulator/env.ts"), "emulator env"],
  [() => import("../commands/emulator/open.ts"), "emulator open"],
  [() => import("../commands/emulator/status.ts"), "emulator stop", "emulator status", "emulator clock show"],
  [() => import("../commands/emulator/wait-for.ts"), "emulator wait-for"],
  [() => import("../commands/emulator/trace.ts"), "emulator trace"],
  [
    () => import("../commands/emulator/access.ts"),
    "emulator workspaces",
    "emulator workspaces create",
    "emulator tokens create",
    "emulator device approve",
    "emulator device deny",
  ],
  [
    () => import("../commands/emulator/requests.ts"),
    "emulator requests",
    "emulator deliveries",
    "emulator deliveries resend",
    "emulator webhooks resend",
  ],
  [
    () => import("../commands/emulator/state.ts"),
    "emulator repair",
    "emulator rewind",
    "emulator seed-schema",
    "emulator snapshot diff",
    "emulator state export",
    "emulator state import",
  ],
  [() => import("../commands/doctor.ts"), "doctor"],
  [() => import("../commands/contracts/create.ts"), "contracts create", "contracts import-executed"],
  [() => import("../commands/contracts/reconcile.ts"), "contracts reconcile"],
  [() => import("../commands/contracts/send.ts"), "contracts send", "contracts status"],
  [() => import("../commands/intake.ts"), "intake create"],
  [() => import("../commands/files.ts"), "files upload", "files download"],
  [() => import("../commands/webhooks/listen.ts"), "webhooks listen"],
  [() => import("../commands/webhooks/subscriptions.ts"), "webhooks create", "webhooks list"],
  [() => import("../commands/webhooks/trigger.ts"), "webhooks trigger"],
  [() => import("../commands/webhooks/replay.ts"), "webhooks replay"],
  [() => import("../commands/webhooks/why.ts"), "webhooks why"],
  [() => import("../commands/webhooks/deliveries.ts"), "webhooks deliveries"],
  [() => import("../commands/webhooks/schedule.ts"), "webhooks schedule"],
  [() => import("../commands/webhooks/verify.ts"), "webhooks verify", "webhooks sign"],
  [() => import("../commands/webhooks/explain.ts"), "webhooks explain"],
  [() => import("../commands/webhooks/certify.ts"), "webhooks certify"],
  [() => import("../commands/verify/record.ts"), "verify record"],
  [() => import("../commands/verify/proxy.ts"), "verify proxy"],
  [() => import("../commands/verify/replay.ts"), "verify replay", "verify scan"],
  [
    () => import("../commands/router/mapping.ts"),
    "router map-emails",
    "router unmap-emails",
    "router map-clients",
    "router unmap-clients",
    "router map-creator-tokens",
    "router unmap-creator-tokens",
    "router map-counterparty-tokens",
    "router unmap-counterparty-tokens",
    "router map-chat-a-teams",
    "router unmap-chat-a-teams",
    "router map-external-integrations",
    "router unmap-external-integrations",
  ],
  [() => import("../commands/router/offboard.ts"), "router offboard"],
  [() => import("../commands/router/resolve.ts"), "router resolve"],
  [() => import("../commands/router/show-email.ts"), "router show-email"],
  [
    () => import("../commands/router/jobs.ts"),
    "router jobs list",
    "router jobs show",
    "router jobs resume",
    "router jobs results",
    "router jobs undo",
    "router jobs prune",
  ],
  [() => import("../commands/auth/device-login.ts"), "auth device-login"],
  [() => import("../commands/auth/tokens.ts"), "auth status", "auth token", "auth refresh", "auth logout"],
  [() => import("../commands/auth/certify.ts"), "auth certify"],
  [
    () => import("../commands/apps.ts"),
    "chat-a event",
    "chat-a interaction",
    "chat-a options",
    "chat-a destination-event",
    "chat-a destination-interaction",
    "chat-a destination-options",
    "chat-b messaging",
    "crm-a iframe",
    "crm-a cards",
    "crm-b open",
    "billing event",
  ],
  [() => import("../commands/api.ts"), "api"],
  [
    () => import("../commands/config.ts"),
    "config list",
    "config get",
    "config set",
    "config unset",
    "config use",
    "config profiles",
    "config remove",
  ],
  [() => import("../commands/openapi.ts"), "openapi"],
  [() => import("../commands/completion.ts"), "completion"],
  [() => import("../commands/agent.ts"), "agent setup"],
  [() => import("../commands/mcp.ts"), "mcp"],
];

const loaders = lookupTable<CommandLoader>(
  Object.fromEntries(writtenModules.flatMap(([load, ...commands]) => commands.map((words) => [words, load]))),
);

export const writtenWords = Object.keys(loaders);

export async function loadWrittenCommand(words: string): Promise<Command> {
  const match = (await loaders[words]?.())?.commands.find((command) => command.words.join(" ") === words);
  if (!match) throw new Error(`Command ${words} not found in this build; rebuild with npm run build`);
  return match;
}
