import type { Command } from "./command.ts";

interface Group {
  readonly summary: string;
  /** Its hand-written commands; each stands beside the derived ones, or for one of the same words. */
  readonly commands?: () => Promise<{ readonly commands: readonly Command[] }>;
}

/** The groups in the order of the root help. A group that is only derived needs no entry but deserves a summary. */
export const groups: Readonly<Record<string, Group>> = {
  tour: {
    summary: "Walk through the whole journey on an embedded emulator",
    commands: () => import("./commands/tour.ts"),
  },
  emulator: {
    summary: "Run the local twin of both services and steer it",
    commands: () => import("./commands/emulator/index.ts"),
  },
  contracts: {
    summary: "Create, send and follow contracts",
    commands: () => import("./commands/contracts/index.ts"),
  },
  intake: { summary: "Legal intakes", commands: () => import("./commands/intake/index.ts") },
  files: { summary: "Files of the workspace", commands: () => import("./commands/files/index.ts") },
  webhooks: {
    summary: "Webhook subscriptions and their signatures",
    commands: () => import("./commands/webhooks/index.ts"),
  },
  templates: { summary: "Contract templates" },
  counterparties: { summary: "Counterparties, their contacts and addresses" },
  router: {
    summary: "Map identifiers to clusters, look them up, offboard workspaces",
    commands: () => import("./commands/router/index.ts"),
  },
  auth: {
    summary: "Sign in on this device, OAuth clients and tokens",
    commands: () => import("./commands/auth/index.ts"),
  },
  config: {
    summary: "Profiles: where the services are, and the credentials for them",
    commands: () => import("./commands/config/index.ts"),
  },
  oidc: { summary: "OpenID Connect discovery, keys, tokens and user information" },
  trial: { summary: "Trial signups" },
  invites: { summary: "Invitations by token" },
  "chat-a": { summary: "Requests of chat app A", commands: () => import("./commands/chat-a/index.ts") },
  "chat-b": { summary: "Requests of chat app B", commands: () => import("./commands/chat-b/index.ts") },
  "crm-a": { summary: "Requests of CRM app A", commands: () => import("./commands/crm-a/index.ts") },
  "crm-b": { summary: "Requests of CRM app B", commands: () => import("./commands/crm-b/index.ts") },
  billing: { summary: "Events of the billing provider", commands: () => import("./commands/billing/index.ts") },
  mailer: { summary: "Events of the mail provider" },
  api: {
    summary: "Send any request, with the credentials of its service",
    commands: () => import("./commands/api.ts"),
  },
  doctor: { summary: "Find out why commands do not work here", commands: () => import("./commands/doctor.ts") },
  completion: {
    summary: "Print the script that completes svc in a shell",
    commands: () => import("./commands/completion.ts"),
  },
  openapi: { summary: "Print the OpenAPI document of a service", commands: () => import("./commands/openapi.ts") },
};
