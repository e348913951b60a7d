import { strictChecks } from "../api/control-plane.ts";
import { specifiedRetrySchedule } from "../api/webhook-retries.ts";
import { clockModes } from "../base/clock.ts";
import { webhookJsonForms } from "../base/json.ts";
import { listOptionalSchemes } from "../schemes/webhook-schemes.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "./command-spec.ts";

/** Option of `startEmulator`, `svc emulator start` and `svc emulator exec`. */
export interface OptionDeclaration {
  /** Default of an option that is a setting (emulator/domain/settings.ts). */
  readonly default?: unknown;
  readonly flag?: FlagSpec;
  /** Flags of its other parts. */
  readonly moreFlags?: readonly FlagSpec[];
  /** Environment variable, for options that are rarely used. */
  readonly variable?: string;
  /**
   * Conversion of a text to the value: a path, a duration, a size, a number, or a comma-separated list. By default the
   * text is unchanged.
   */
  readonly text?: "path" | "duration" | "size" | "number" | "list";
}

const textFlag = <const Flag extends string, const More extends Partial<FlagSpec>>(
  section: string,
  flag: Flag,
  placeholder: string,
  description: string,
  more?: More,
) => ({ section, ...createTextFlag(flag, placeholder, description, more) }) as const;

const optionalSchemes = listOptionalSchemes();

/**
 * The options of the emulator with a flag, a variable or a default, by their names in `startEmulator` and in the order
 * of help.
 */
export const emulatorOptions = {
  file: {
    text: "path",
    flag: textFlag("State", "file", "FILE", "Store the state in this file (default: .svc/emulator.json)"),
  },
  ephemeral: { flag: createSwitch("ephemeral", "Store the state in memory", { section: "State" }) },
  seed: {
    flag: textFlag("State", "seed", "NAME|FILE", "Seed of a new state: demo, empty, or a file", { default: "demo" }),
  },
  from: {
    flag: textFlag(
      "State",
      "from",
      "NAME|FILE",
      "Start with a copy of this snapshot or state, on free ports and in memory by default",
    ),
  },
  historyBytes: { variable: "SVC_HISTORY", text: "size" },
  clock: {
    flag: textFlag(
      "Clock",
      "clock",
      "MODE",
      "How virtual time passes: by itself, by commands, or by jumps to the next due entry (default: the saved mode, or real)",
      { choices: clockModes },
    ),
    moreFlags: [
      {
        flag: "clock-speed",
        section: "Clock",
        type: "number",
        description: "Virtual seconds per real second (default: the saved speed, or 1)",
      },
      textFlag("Clock", "clock-start", "TIME", "Virtual time at which a new state starts, ISO 8601 (default: now)"),
    ],
  },
  autoSignMs: {
    text: "duration",
    flag: textFlag(
      "Clock",
      "auto-sign",
      "DURATION",
      "Let each signatory sign automatically after this much virtual time",
    ),
  },
  port: {
    flag: createIntegerFlag("port", "Port of the router; clusters use the next ones; 0 uses free ports", {
      section: "Network",
      min: 0,
      max: 65_535,
    }),
  },
  host: {
    flag: textFlag(
      "Network",
      "host",
      "ADDRESS",
      "Address to listen on; other machines can reach any address but loopback",
      { default: "127.0.0.1" },
    ),
  },
  allowedHosts: {
    flag: textFlag("Network", "allowed-host", "NAME", "Accept this name in the Host header", { repeatable: true }),
  },
  trustedProxies: { variable: "SVC_TRUSTED_PROXIES", text: "list" },
  publicUrl: {
    default: "http://127.0.0.1:4010",
    flag: textFlag(
      "Network",
      "public-url",
      "URL|CLUSTER=URL",
      "Address of the router, or of a cluster, for clients (default: where it listens)",
      { repeatable: true },
    ),
  },
  webhookAllow: {
    default: [],
    flag: textFlag(
      "Webhooks",
      "webhook-allow",
      "HOST",
      "Also send webhooks to this host: host, host:port or *.domain",
      { repeatable: true },
    ),
  },
  webhookSchemes: {
    default: [],
    flag: textFlag(
      "Webhooks",
      "webhook-headers",
      "LIST",
      `Add headers to webhooks: those of ${optionalSchemes.map(({ title }) => title).join(" or ")}, or traceparent`,
      { repeatable: true, choices: [...optionalSchemes.map(({ name }) => name), "trace"] },
    ),
  },
  traceWebhooks: { default: false },
  webhookJson: {
    default: "compact",
    flag: textFlag("Webhooks", "webhook-json", "FORM", "JSON format of webhooks; mixed varies from event to event", {
      choices: webhookJsonForms,
      default: "compact",
    }),
  },
  retrySchedule: {
    default: specifiedRetrySchedule,
    text: "list",
    flag: textFlag("Webhooks", "retry-schedule", "DURATION,…", "Delays before the retries of a webhook", {
      default: specifiedRetrySchedule.join(","),
    }),
  },
  webhookConnectTimeoutMs: { default: 5_000 },
  webhookResponseTimeoutMs: { default: 60_000, variable: "SVC_WEBHOOK_TIMEOUT", text: "duration" },
  workerTick: { default: false },
  strict: {
    flag: textFlag(
      "Strictness",
      "strict",
      "LIST",
      `Reject what the emulator tolerates: ${strictChecks.join(", ")} (all without LIST)`,
      { optionalValue: true },
    ),
  },
  observed: {
    text: "path",
    flag: textFlag(
      "Strictness",
      "observed",
      "FOLDER",
      "Respond as a recorded service did, where the emulator only assumes",
    ),
  },
  deterministic: {
    default: false,
    flag: createSwitch(
      "deterministic",
      "Return the same bytes for the same seed, requests and --port, except measured times",
      { section: "Strictness" },
    ),
  },
  token: { variable: "SVC_EMULATOR_TOKEN" },
  rateLimit: { default: 0, variable: "SVC_RATE_LIMIT", text: "number" },
  lenientSlashes: { default: false },
  upstreamTimeoutMs: { default: 30_000 },
  chatUpstreamTimeoutMs: { default: 2_500 },
  requestLogBytes: { default: 4 * 1024 * 1024 },
  inboxBytes: { default: 4 * 1024 * 1024 },
  unreadResponseTimeoutMs: { default: 120_000 },
} as const satisfies Readonly<Record<string, OptionDeclaration>>;

type DeclaredOptions = typeof emulatorOptions;
type OptionName = keyof DeclaredOptions;

export type SettingName = {
  [Name in OptionName]: DeclaredOptions[Name] extends { readonly default: unknown } ? Name : never;
}[OptionName];

type EmulatorFlag =
  | Extract<DeclaredOptions[OptionName], { readonly flag: unknown }>["flag"]
  | DeclaredOptions["clock"]["moreFlags"][number];

/** Creates the flags that `start` and `exec` share. With `defaultPort` 0, the state is in memory by default. */
export const createEmulatorFlags = (defaultPort: number): readonly EmulatorFlag[] =>
  Object.values<OptionDeclaration>(emulatorOptions).flatMap(({ flag, moreFlags = [] }) =>
    [...(flag ? [flag] : []), ...moreFlags].map((spec) => {
      if (spec.flag === "port") return { ...spec, default: defaultPort };
      if (spec.flag !== "file" || defaultPort !== 0) return spec;
      return { ...spec, description: spec.description.replace(".svc/emulator.json", "in memory") };
    }),
  ) as unknown as readonly EmulatorFlag[];
