import { strictChecks } from "../api/strict-checks.ts";
import { specifiedRetrySchedule } from "../api/webhook-retries.ts";
import { webhookJsonForms } from "../base/json.ts";
import { isSchemaName, parsePostgresUrl } from "../base/postgres-url.ts";
import { formatSuggestion } from "../base/text.ts";
import { hostForms, isHostPattern, suggestHostPattern } from "../base/urls.ts";
import { listOptionalSchemes } from "../schemes/webhook-schemes.ts";
import type { FlagSpec } from "./command-spec.ts";

/** Check of a value. Limits are inclusive, except `above`. A custom check returns the problem: "must be a URL". */
export type OptionCheck =
  | { readonly is: "boolean" | "function" | "signal" | "url" | "ranges" | "retry schedule" }
  | { readonly is: "text"; readonly min?: number }
  | {
      readonly is: "number" | "integer";
      readonly min?: number;
      readonly above?: number;
      readonly max?: number;
    }
  | { readonly is: "choice"; readonly names: readonly string[] }
  | { readonly is: "list" | "dictionary"; readonly of: OptionCheck }
  | { readonly is: "object"; readonly of: Readonly<Record<string, OptionCheck>> }
  | { readonly is: "custom"; readonly findProblems: (value: unknown) => readonly string[] };

/** Option of `startEmulator`, `svc emulator start` and `svc emulator exec`. */
export interface OptionDeclaration {
  readonly check: OptionCheck;
  /** Default of an option that is a setting (emulator/domain/settings.ts). */
  readonly default?: unknown;
  readonly flags?: readonly FlagSpec[];
  /** Environment variable, for options that are rarely used. */
  readonly variable?: string;
  /**
   * Conversion of a text to the value: a path, a duration, a size, a number, or a comma-separated list. By default the
   * text is unchanged.
   */
  readonly text?: "path" | "duration" | "size" | "number" | "list";
}

const createCustomCheck = (accepts: (value: unknown) => boolean, problem: string) => ({
  is: "custom" as const,
  findProblems: (value: unknown): readonly string[] => (accepts(value) ? [] : [problem]),
});
const millisecondsCheck = { is: "number", min: 0 } as const satisfies OptionCheck;
const bytesCheck = { is: "integer", min: 0 } as const satisfies OptionCheck;
const text = { is: "text" } as const satisfies OptionCheck;

/** Creates a flag with a text value. `more` contains the properties that only some flags have. */
const textFlag = <const Flag extends string, const More extends Partial<FlagSpec>>(
  section: string,
  flag: Flag,
  placeholder: string,
  description: string,
  more: More = {} as More,
) => ({ flag, section, type: "text", placeholder, description, ...more }) as const;

const optionalSchemes = listOptionalSchemes();
const optionalSchemeNames = optionalSchemes.map(({ name }) => name);

/**
 * All options of the emulator by their names in `startEmulator`, in the order of help. The compiler compares them with
 * emulator/published.d.ts.
 */
export const emulatorOptions = {
  file: {
    check: text,
    text: "path",
    flags: [textFlag("State", "file", "FILE", "Keep the state in this file (default: .svc/emulator.json)")],
  },
  store: { check: { is: "custom", findProblems: findStoreProblems } },
  schema: {
    check: createCustomCheck(
      (value) => typeof value === "string" && isSchemaName(value),
      "must be lower-case letters, digits and underscores",
    ),
  },
  ephemeral: {
    check: { is: "boolean" },
    flags: [{ flag: "ephemeral", section: "State", type: "switch", description: "Keep the state in memory" }],
  },
  seed: {
    check: createCustomCheck(
      (value) => typeof value === "string" || (typeof value === "object" && value !== null),
      "must be a name or a document",
    ),
    flags: [textFlag("State", "seed", "NAME|FILE", "Seed of a new state: demo, empty, or a file", { default: "demo" })],
  },
  from: {
    check: text,
    flags: [
      textFlag(
        "State",
        "from",
        "NAME|FILE",
        "Start with a copy of this snapshot or state, on free ports and in memory by default",
      ),
    ],
  },
  historyBytes: { check: bytesCheck, variable: "SVC_HISTORY", text: "size" },
  clock: {
    check: {
      is: "object",
      of: {
        mode: { is: "choice", names: ["real", "manual", "auto"] },
        speed: { is: "number", above: 0 },
        start: createCustomCheck((value) => !Number.isNaN(Date.parse(String(value))), "must be an ISO time"),
      },
    },
    flags: [
      textFlag(
        "Clock",
        "clock",
        "MODE",
        "How virtual time passes: by itself, by commands, or by jumps to the next due entry",
        { choices: ["real", "manual", "auto"], default: "real" },
      ),
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
    check: millisecondsCheck,
    text: "duration",
    flags: [
      textFlag("Clock", "auto-sign", "DURATION", "Let each signatory sign automatically after this much virtual time"),
    ],
  },
  port: {
    check: { is: "integer", min: 0, max: 65_535 },
    flags: [
      {
        flag: "port",
        section: "Network",
        type: "integer",
        min: 0,
        max: 65_535,
        description: "Port of the router; clusters use the next ones; 0 uses free ports",
      },
    ],
  },
  host: {
    check: text,
    flags: [
      textFlag(
        "Network",
        "host",
        "ADDRESS",
        "Address to listen on; other machines can reach any address but loopback",
        { default: "127.0.0.1" },
      ),
    ],
  },
  allowedHosts: {
    check: { is: "list", of: text },
    flags: [textFlag("Network", "allowed-host", "NAME", "Accept this name in the Host header", { repeatable: true })],
  },
  trustedProxies: { check: { is: "ranges" }, variable: "SVC_TRUSTED_PROXIES", text: "list" },
  publicUrl: {
    check: { is: "url" },
    default: "http://127.0.0.1:4010",
    flags: [
      textFlag(
        "Network",
        "public-url",
        "URL|CLUSTER=URL",
        "Address of the router, or of a cluster, for clients (default: where it listens)",
        { repeatable: true },
      ),
    ],
  },
  clusterUrls: {
    check: {
      is: "dictionary",
      of: createCustomCheck((value) => isOrigin(String(value)), "must be a URL without a path"),
    },
  },
  webhookAllow: {
    check: { is: "list", of: { is: "custom", findProblems: findHostProblems } },
    default: [],
    flags: [
      textFlag("Webhooks", "webhook-allow", "HOST", "Also send webhooks to this host: host, host:port or *.domain", {
        repeatable: true,
      }),
    ],
  },
  webhookSchemes: {
    check: { is: "list", of: { is: "choice", names: optionalSchemeNames } },
    default: [],
    flags: [
      textFlag(
        "Webhooks",
        "webhook-headers",
        "LIST",
        `Add headers to webhooks: those of ${optionalSchemes.map(({ title }) => title).join(" or ")}, or traceparent`,
        { repeatable: true, choices: [...optionalSchemeNames, "trace"] },
      ),
    ],
  },
  traceWebhooks: { check: { is: "boolean" }, default: false },
  webhookJson: {
    check: { is: "choice", names: webhookJsonForms },
    default: "compact",
    flags: [
      textFlag("Webhooks", "webhook-json", "FORM", "JSON format of webhooks; mixed varies from event to event", {
        choices: webhookJsonForms,
        default: "compact",
      }),
    ],
  },
  retrySchedule: {
    check: { is: "retry schedule" },
    default: specifiedRetrySchedule,
    flags: [
      textFlag("Webhooks", "retry-schedule", "DURATION,…", "Delays before the retries of a webhook", {
        default: specifiedRetrySchedule.join(","),
      }),
    ],
  },
  webhookConnectTimeoutMs: { check: millisecondsCheck, default: 5_000 },
  webhookResponseTimeoutMs: {
    check: millisecondsCheck,
    default: 60_000,
    variable: "SVC_WEBHOOK_TIMEOUT",
    text: "duration",
  },
  workerTick: { check: { is: "boolean" }, default: false },
  strict: {
    check: { is: "custom", findProblems: findStrictProblems },
    flags: [
      textFlag(
        "Strictness",
        "strict",
        "LIST",
        `Reject what the emulator tolerates: ${strictChecks.join(", ")} (default: all of them)`,
        { optionalValue: true },
      ),
    ],
  },
  observed: {
    check: { is: "text", min: 1 },
    text: "path",
    flags: [
      textFlag(
        "Strictness",
        "observed",
        "FOLDER",
        "Respond as a recorded service did, where the emulator only assumes",
      ),
    ],
  },
  deterministic: {
    check: { is: "boolean" },
    default: false,
    flags: [
      {
        flag: "deterministic",
        section: "Strictness",
        type: "switch",
        description: "Return the same bytes for the same seed, requests and --port, except measured times",
      },
    ],
  },
  rateLimit: { check: { is: "number", min: 0 }, default: 0, variable: "SVC_RATE_LIMIT", text: "number" },
  token: { check: { is: "text", min: 1 } },
  lenientSlashes: { check: { is: "boolean" }, default: false },
  upstreamTimeoutMs: { check: millisecondsCheck, default: 30_000 },
  chatUpstreamTimeoutMs: { check: millisecondsCheck, default: 2_500 },
  requestLogBytes: { check: bytesCheck, default: 4 * 1024 * 1024 },
  inboxBytes: { check: bytesCheck, default: 4 * 1024 * 1024 },
  unreadAnswerTimeoutMs: { check: millisecondsCheck, default: 120_000 },
  graceMs: { check: millisecondsCheck },
  leaseMs: { check: { is: "number", min: 100, max: 60_000 } },
  runFile: { check: text },
  signal: { check: { is: "signal" } },
  log: { check: { is: "function" } },
  onLeaderChange: { check: { is: "function" } },
  onLeadershipRegained: { check: { is: "function" } },
  otel: { check: createCustomCheck(isVariables, "must be variables, such as process.env") },
} as const satisfies Readonly<Record<string, OptionDeclaration>>;

type DeclaredOptions = typeof emulatorOptions;
export type OptionName = keyof DeclaredOptions;

export type SettingName = {
  [Name in OptionName]: DeclaredOptions[Name] extends { readonly default: unknown } ? Name : never;
}[OptionName];

type EmulatorFlag = Extract<DeclaredOptions[OptionName], { readonly flags: unknown }>["flags"][number];

/** Creates the flags that `start` and `exec` share. With `defaultPort` 0, the state is in memory by default. */
export const createEmulatorFlags = (defaultPort: number): readonly EmulatorFlag[] =>
  Object.values<OptionDeclaration>(emulatorOptions).flatMap(({ flags = [] }) =>
    flags.map((spec) => {
      if (spec.flag === "port") return { ...spec, default: defaultPort };
      if (spec.flag !== "file" || defaultPort !== 0) return spec;
      return { ...spec, description: spec.description.replace(".svc/emulator.json", "in memory") };
    }),
  ) as unknown as readonly EmulatorFlag[];

/** Describes the problem with the URL of a store. The text does not contain the URL, which can contain a password. */
function findStoreProblems(url: unknown): readonly string[] {
  if (typeof url !== "string") return ["must be a URL"];
  try {
    parsePostgresUrl(url);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function findHostProblems(host: unknown): readonly string[] {
  if (typeof host !== "string") return [`must be ${hostForms}`];
  if (isHostPattern(host)) return [];
  const likely = suggestHostPattern(host);
  return [`must be ${hostForms}, got "${host}"${likely === undefined ? "" : `. Did you mean ${likely}?`}`];
}

function findStrictProblems(names: unknown): readonly string[] {
  if (!isIterable(names)) return ["must be a list of names"];
  return [...names]
    .filter((name) => !(strictChecks as readonly unknown[]).includes(name))
    .map((name) => `unknown strict check "${name}". ${formatSuggestion(String(name), strictChecks)}`);
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.iterator in value;

function isVariables(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((item) => item === undefined || typeof item === "string");
}

const isOrigin = (text: string): boolean => URL.canParse(text) && /^https?:\/\/[^/?#]+\/?$/.test(text);
