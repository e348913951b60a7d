import { lookupTable } from "../../base/object.ts";

export interface CommandGroup {
  readonly summary: string;
  readonly heading: Heading;
  /** Commands whose examples the page of the group shows (default: its first two commands). */
  readonly exampleCommands?: readonly string[];
  readonly sections?: readonly GroupSection[];
  /** Words that only `svc help --all` lists: probes, pages, forms, and alternative spellings of listed commands. */
  readonly unlisted?: readonly string[];
}

/** Section of a group's page: commands with summaries, then names alone. Both are the first word after the group. */
interface GroupSection {
  readonly title: string;
  readonly commands: readonly string[];
  readonly more?: readonly string[];
}

type Heading = "Integrate" | "Operate" | "Connected apps" | "More";

/** The root help lists the groups of these headings on one line, without summaries. */
export const briefHeadings: readonly Heading[] = ["Connected apps", "More"];

export const commandGroups = lookupTable<CommandGroup>({
  dev: { summary: "Run an emulator and forward its webhooks to your app", heading: "Integrate" },
  contracts: {
    summary: "Create, send and follow contracts",
    heading: "Integrate",
    exampleCommands: ["create", "send", "list"],
    unlisted: ["list-v1"],
  },
  files: { summary: "Upload and download files", heading: "Integrate" },
  intake: {
    summary: "Create legal intakes and follow them",
    heading: "Integrate",
    exampleCommands: ["create", "list"],
  },
  webhooks: {
    summary: "Receive, verify, certify and diagnose webhooks",
    heading: "Integrate",
    exampleCommands: ["listen", "trigger", "certify"],
  },
  emulator: {
    summary: "Run and control the local emulator of both services",
    heading: "Integrate",
    exampleCommands: ["exec"],
    sections: [
      { title: "Run", commands: ["start", "exec", "env", "status", "open", "stop"] },
      { title: "Time", commands: ["clock", "wait-for", "rewind", "snapshot"] },
      {
        title: "Inspect",
        commands: ["requests", "deliveries", "emails", "trace", "events"],
        more: [
          ...["activities", "blackhole", "clusters", "contracts", "devices", "installations"],
          ...["invitations", "owners", "show-contract", "trials", "user-tasks", "webhooks"],
        ],
      },
      {
        title: "Act as a user",
        commands: [],
        more: [
          ...["sign", "decline", "approve", "complete-review", "request-approval", "request-review", "send", "mark"],
          ...["unmark", "hold", "resume", "void", "delete", "set-entity", "device"],
        ],
      },
      { title: "Faults", commands: ["fault"] },
      {
        title: "Share",
        commands: ["workspaces", "tokens", "state"],
        more: ["reset", "repair", "seed-schema", "clear-requests", "remove-signatories"],
      },
    ],
    unlisted: [
      ...["inbox", "live", "ready", "metrics", "usage", "device-page", "device-form"],
      ...["provider-page", "provider-form", "console", "chat-b", "record-delivery", "watch-requests", "watch-trace"],
    ],
  },
  run: { summary: "Run each scenario file on its own emulator", heading: "Integrate" },
  router: {
    summary: "Map identifiers to clusters, and look them up",
    heading: "Operate",
    exampleCommands: ["map-emails", "resolve", "jobs resume"],
  },
  auth: { summary: "Sign in on this device, and manage OAuth clients", heading: "Operate" },
  config: {
    summary: "Manage profiles with addresses and credentials",
    heading: "Operate",
    exampleCommands: ["set", "list"],
  },
  verify: {
    summary: "Record a service, and compare the emulator with it",
    heading: "Operate",
    exampleCommands: ["record", "replay"],
  },
  doctor: { summary: "Diagnose why commands do not work here", heading: "Operate" },
  "chat-a": { summary: "Send signed events, interactions and option requests", heading: "Connected apps" },
  "chat-b": { summary: "Send activities with a bot-framework token", heading: "Connected apps" },
  "crm-a": { summary: "Open the embedded app of crm_a, with its signature", heading: "Connected apps" },
  "crm-b": { summary: "Open the canvas app of crm_b with a signed request", heading: "Connected apps" },
  billing: { summary: "Send an event of the billing provider", heading: "Connected apps" },
  mailer: { summary: "Send events of the mail provider", heading: "Connected apps" },
  tour: { summary: "Run a 15-step tour on an in-process emulator", heading: "More" },
  oidc: {
    summary: "Show OpenID configuration, keys and users, and get tokens",
    heading: "More",
    exampleCommands: ["discovery", "userinfo"],
  },
  trial: { summary: "Sign up for a trial", heading: "More", exampleCommands: ["signup", "complete"] },
  invites: { summary: "Look up invitations by their token", heading: "More" },
  api: { summary: "Send any request, with the credentials of its service", heading: "More" },
  openapi: { summary: "Print the OpenAPI document of a service", heading: "More" },
  completion: { summary: "Print the shell script that completes svc", heading: "More" },
  agent: { summary: "Set up coding agents to use svc", heading: "More" },
  mcp: { summary: "Serve agents over the Model Context Protocol, on stdio", heading: "More" },
});
