import { lookupTable } from "../base/lookup-table.ts";

export interface Group {
  readonly summary: string;
  /** Under which it stands in the root help. */
  readonly heading: Heading;
  /** Commands whose examples stand on its page, where the first two are not what a newcomer looks for. */
  readonly shown?: readonly string[];
}

type Heading =
  | "Begin here"
  | "Contract API"
  | "Routing service"
  | "What connected apps and providers send"
  | "Settings and descriptions";

/** The groups in the order of the root help. */
export const groups = lookupTable<Group>({
  tour: {
    summary: "Walk through the whole journey on an embedded emulator",
    heading: "Begin here",
  },
  emulator: {
    summary: "Run the local twin of both services and steer it",
    heading: "Begin here",
    shown: ["start", "exec", "clock advance", "sign"],
  },
  doctor: {
    summary: "Find out why commands do not work here",
    heading: "Begin here",
  },
  contracts: {
    summary: "Create, send and follow contracts",
    heading: "Contract API",
    shown: ["create", "send", "list"],
  },
  intake: {
    summary: "Ask legal for something, and follow what becomes of it",
    heading: "Contract API",
    shown: ["create", "list"],
  },
  files: {
    summary: "Upload files and download them",
    heading: "Contract API",
  },
  webhooks: {
    summary: "Subscribe to activities, receive, verify, replay and explain webhooks",
    heading: "Contract API",
    shown: ["listen", "trigger", "create"],
  },
  router: {
    summary: "Map identifiers to clusters, look them up, offboard workspaces",
    heading: "Routing service",
    shown: ["map-emails", "resolve", "jobs resume"],
  },
  auth: {
    summary: "Sign in on this device; OAuth clients, logins and signups",
    heading: "Routing service",
  },
  oidc: {
    summary: "OpenID Connect discovery, keys, tokens and user information",
    heading: "Routing service",
    shown: ["discovery", "userinfo"],
  },
  trial: { summary: "Sign up for a trial", heading: "Routing service", shown: ["signup", "complete"] },
  invites: { summary: "Look up invitations by their token", heading: "Routing service" },
  "chat-a": {
    summary: "Send what chat_a sends: signed events, interactions and requests for options",
    heading: "What connected apps and providers send",
  },
  "chat-b": {
    summary: "Send what chat_b sends: activities with a bot-framework token",
    heading: "What connected apps and providers send",
  },
  "crm-a": {
    summary: "Open what crm_a embeds, with its signature",
    heading: "What connected apps and providers send",
  },
  "crm-b": {
    summary: "Open the canvas app of crm_b with a signed request",
    heading: "What connected apps and providers send",
  },
  billing: {
    summary: "Send an event of the billing provider",
    heading: "What connected apps and providers send",
  },
  mailer: { summary: "Send events of the mail provider", heading: "What connected apps and providers send" },
  api: {
    summary: "Send any request, with the credentials of its service",
    heading: "Settings and descriptions",
  },
  config: {
    summary: "Profiles: where the services are, and the credentials for them",
    heading: "Settings and descriptions",
    shown: ["set", "list"],
  },
  openapi: {
    summary: "Print the OpenAPI document of a service",
    heading: "Settings and descriptions",
  },
  completion: {
    summary: "Print the script that completes svc in a shell",
    heading: "Settings and descriptions",
  },
});
