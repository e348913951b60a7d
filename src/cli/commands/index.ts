import { lookupTable } from "../../base/object.ts";
import type { Command } from "../command.ts";

type Load = () => Promise<{ readonly commands: readonly Command[] }>;

/** Every module of hand-written commands, with their words: each replaces or joins the derived command of its words. */
export const writtenModules: readonly (readonly [load: Load, ...commands: string[]])[] = [
  [() => import("./dev.ts"), "dev"],
  [() => import("./run.ts"), "run"],
  [() => import("./tour.ts"), "tour"],
  [() => import("./emulator/start.ts"), "emulator start"],
  [() => import("./emulator/exec.ts"), "emulator exec"],
  [() => import("./emulator/env.ts"), "emulator env"],
  [() => import("./emulator/open.ts"), "emulator open"],
  [() => import("./emulator/status.ts"), "emulator stop", "emulator status", "emulator clock show"],
  [() => import("./emulator/wait-for.ts"), "emulator wait-for"],
  [() => import("./emulator/trace.ts"), "emulator trace"],
  [
    () => import("./emulator/workspaces.ts"),
    "emulator workspaces",
    "emulator workspaces create",
    "emulator tokens create",
  ],
  [
    () => import("./emulator/requests.ts"),
    "emulator requests",
    "emulator deliveries",
    "emulator deliveries resend",
    "emulator webhooks resend",
  ],
  [() => import("./emulator/device.ts"), "emulator device approve", "emulator device deny"],
  [
    () => import("./emulator/state.ts"),
    "emulator repair",
    "emulator seed-schema",
    "emulator snapshot diff",
    "emulator state export",
    "emulator state import",
  ],
  [() => import("./doctor.ts"), "doctor"],
  [() => import("./contracts/create.ts"), "contracts create", "contracts import-executed"],
  [() => import("./contracts/reconcile.ts"), "contracts reconcile"],
  [() => import("./contracts/send.ts"), "contracts send", "contracts status"],
  [() => import("./intake.ts"), "intake create"],
  [() => import("./files.ts"), "files upload", "files download"],
  [() => import("./webhooks/listen.ts"), "webhooks listen"],
  [() => import("./webhooks/subscriptions.ts"), "webhooks create", "webhooks list"],
  [() => import("./webhooks/trigger.ts"), "webhooks trigger"],
  [() => import("./webhooks/replay.ts"), "webhooks replay"],
  [() => import("./webhooks/why.ts"), "webhooks why"],
  [() => import("./webhooks/deliveries.ts"), "webhooks deliveries"],
  [() => import("./webhooks/schedule.ts"), "webhooks schedule"],
  [() => import("./webhooks/verify.ts"), "webhooks verify", "webhooks sign"],
  [() => import("./webhooks/explain.ts"), "webhooks explain"],
  [() => import("./webhooks/certify.ts"), "webhooks certify"],
  [() => import("./verify/index.ts"), "verify record", "verify proxy", "verify scan", "verify replay"],
  [
    () => import("./router/mapping.ts"),
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
  [() => import("./router/offboard.ts"), "router offboard"],
  [() => import("./router/resolve.ts"), "router resolve"],
  [() => import("./router/show-email.ts"), "router show-email"],
  [
    () => import("./router/jobs.ts"),
    "router jobs list",
    "router jobs show",
    "router jobs resume",
    "router jobs results",
    "router jobs undo",
    "router jobs prune",
  ],
  [() => import("./auth/device-login.ts"), "auth device-login"],
  [() => import("./auth/tokens.ts"), "auth status", "auth token", "auth refresh", "auth logout"],
  [() => import("./auth/certify.ts"), "auth certify"],
  [
    () => import("./chat-a.ts"),
    "chat-a event",
    "chat-a interaction",
    "chat-a options",
    "chat-a destination-event",
    "chat-a destination-interaction",
    "chat-a destination-options",
  ],
  [() => import("./chat-b.ts"), "chat-b messaging"],
  [() => import("./crm-a.ts"), "crm-a iframe", "crm-a cards"],
  [() => import("./crm-b.ts"), "crm-b open"],
  [() => import("./billing.ts"), "billing event"],
  [() => import("./api.ts"), "api"],
  [
    () => import("./config.ts"),
    "config list",
    "config get",
    "config set",
    "config unset",
    "config use",
    "config profiles",
    "config remove",
  ],
  [() => import("./openapi.ts"), "openapi"],
  [() => import("./completion.ts"), "completion"],
  [() => import("./agent.ts"), "agent setup"],
  [() => import("./mcp.ts"), "mcp"],
];

const loaders = lookupTable<Load>(
  Object.fromEntries(writtenModules.flatMap(([load, ...commands]) => commands.map((words) => [words, load]))),
);

/** The words of all hand-written commands. */
export const writtenWords = Object.keys(loaders);

/** The hand-written command of these words. */
export async function writtenCommand(words: string): Promise<Command> {
  const found = (await loaders[words]?.())?.commands.find((command) => command.words.join(" ") === words);
  if (!found) throw new Error(`Command ${words} not found in this build; rebuild with npm run build`);
  return found;
}
