import { resolve } from "node:path";
import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { strictChecks } from "../../../api/strict-checks.ts";
import { maxRetryDelayMs, specifiedRetrySchedule } from "../../../api/webhook-retries.ts";
import { webhookJsonForms } from "../../../base/json.ts";
import { isOneOf } from "../../../base/object.ts";
import { formatSuggestion } from "../../../base/text.ts";
import { hostForms, isHostPattern, suggestHostPattern } from "../../../base/urls.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { listOptionalSchemes } from "../../../schemes/webhook-schemes.ts";
import { resolveSnapshotFile } from "../../connection/emulator/snapshot-names.ts";
import { readControlTokenSetting } from "../../connection/resolve-settings.ts";
import { readDocument } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseBaseUrlFlag, parseDurationFlag, parseSizeFlag } from "../../parse/globals.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

const optionalSchemes = listOptionalSchemes();

/** The flags that `start` and `exec` share. A test compares their defaults with those of the emulator. */
export const createEmulatorFlags = (defaultPort: number) =>
  [
    {
      flag: "file",
      section: "State",
      type: "text",
      placeholder: "FILE",
      description: `Keep the state in this file (default: ${defaultPort === 0 ? "in memory" : ".svc/emulator.json"})`,
    },
    { flag: "ephemeral", section: "State", type: "switch", description: "Keep the state in memory" },
    {
      flag: "seed",
      section: "State",
      type: "text",
      placeholder: "NAME|FILE",
      description: "Seed of a new state: demo, empty, or a file",
      default: "demo",
    },
    {
      flag: "from",
      section: "State",
      type: "text",
      placeholder: "NAME|FILE",
      description: "Start with a copy of this snapshot or state, on free ports and in memory by default",
    },
    {
      flag: "clock",
      section: "Clock",
      type: "text",
      placeholder: "MODE",
      choices: ["real", "manual", "auto"],
      description: "How virtual time passes: by itself, by commands, or by jumps to the next due entry",
      default: "real",
    },
    {
      flag: "clock-speed",
      section: "Clock",
      type: "number",
      description: "Virtual seconds per real second (default: the saved speed, or 1)",
    },
    {
      flag: "clock-start",
      section: "Clock",
      type: "text",
      placeholder: "TIME",
      description: "Virtual time at which a new state starts, ISO 8601 (default: now)",
    },
    {
      flag: "auto-sign",
      section: "Clock",
      type: "text",
      placeholder: "DURATION",
      description: "Let each signatory sign automatically after this much virtual time",
    },
    {
      flag: "port",
      section: "Network",
      type: "integer",
      least: 0,
      most: 65_535,
      description: "Port of the router; clusters use the next ones; 0 uses free ports",
      default: defaultPort,
    },
    {
      flag: "host",
      section: "Network",
      type: "text",
      placeholder: "ADDRESS",
      description: "Address to listen on; other machines can reach any address but loopback",
      default: "127.0.0.1",
    },
    {
      flag: "allowed-host",
      section: "Network",
      type: "text",
      placeholder: "NAME",
      repeatable: true,
      description: "Accept this name in the Host header",
    },
    {
      flag: "public-url",
      section: "Network",
      type: "text",
      placeholder: "URL|CLUSTER=URL",
      repeatable: true,
      description: "Address of the router, or of a cluster, for clients (default: where it listens)",
    },
    {
      flag: "webhook-allow",
      section: "Webhooks",
      type: "text",
      placeholder: "HOST",
      repeatable: true,
      description: "Also send webhooks to this host: host, host:port or *.domain",
    },
    {
      flag: "webhook-headers",
      section: "Webhooks",
      type: "text",
      placeholder: "LIST",
      repeatable: true,
      choices: [...optionalSchemes.map(({ name }) => name), "trace"],
      description: `Add headers to webhooks: those of ${optionalSchemes.map(({ title }) => title).join(" or ")}, or traceparent`,
    },
    {
      flag: "webhook-json",
      section: "Webhooks",
      type: "text",
      placeholder: "FORM",
      choices: webhookJsonForms,
      description: "How the JSON of webhooks is written; mixed varies from event to event",
      default: "compact",
    },
    {
      flag: "retry-schedule",
      section: "Webhooks",
      type: "text",
      placeholder: "DURATION,…",
      description: "Delays before the retries of a webhook",
      default: specifiedRetrySchedule.join(","),
    },
    {
      flag: "strict",
      section: "Strictness",
      type: "text",
      placeholder: "LIST",
      optionalValue: true,
      description: `Reject what the emulator tolerates: ${strictChecks.join(", ")} (default: all of them)`,
    },
    {
      flag: "observed",
      section: "Strictness",
      type: "text",
      placeholder: "FOLDER",
      description: "Respond as a recorded service did, where the emulator only assumes",
    },
    {
      flag: "deterministic",
      section: "Strictness",
      type: "switch",
      description: "Return the same bytes for the same seed, requests and --port",
    },
  ] as const satisfies readonly FlagSpec[];

type EmulatorFlags = ReturnType<typeof createEmulatorFlags>;

/**
 * Converts the flags, and rarely used variables of the environment, into options. Paths are relative to the working
 * folder.
 */
export async function readEmulatorOptions(
  { flags }: CommandInputOf<EmulatorFlags>,
  host: Host,
): Promise<EmulatorOptions> {
  const { SVC_WEBHOOK_TIMEOUT: timeout, SVC_TRUSTED_PROXIES: proxies } = host.env;
  const clock = {
    mode: flags.clock,
    speed: parseSpeed(flags["clock-speed"]),
    start: parseClockStart(flags["clock-start"]),
  };
  const { file, from, observed, "webhook-headers": headers } = flags;
  const options = {
    port: flags.port ?? (from === undefined ? undefined : 0),
    host: flags.host,
    allowedHosts: flags["allowed-host"],
    trustedProxies: proxies ? proxies.split(",").map((proxy) => proxy.trim()) : undefined,
    ...parsePublicUrls(flags["public-url"] ?? []),
    file: file === undefined ? undefined : resolve(host.cwd, file),
    observed: observed === undefined ? undefined : resolve(host.cwd, observed),
    historyBytes: parseHistorySize(host.env.SVC_HISTORY),
    from: from === undefined ? undefined : await resolveSnapshotFile(from, host),
    ephemeral: isStateless(flags) || undefined,
    seed: await resolveSeed(flags.seed ?? "demo", host),
    clock: omitUndefined(clock),
    token: readControlTokenSetting(host)?.value,
    strict: parseStrict(flags.strict),
    deterministic: flags.deterministic,
    rateLimit: parseRateLimit(host.env.SVC_RATE_LIMIT),
    webhookAllow: parseAllowedReceivers(flags["webhook-allow"]),
    retrySchedule: retryScheduleIn(flags["retry-schedule"]),
    webhookResponseTimeoutMs: timeout ? parseDurationFlag(timeout, "SVC_WEBHOOK_TIMEOUT") : undefined,
    webhookSchemes: headers && optionalSchemes.map(({ name }) => name).filter((name) => headers.includes(name)),
    traceWebhooks: headers?.includes("trace"),
    webhookJson: flags["webhook-json"],
    autoSignMs: flags["auto-sign"] === undefined ? undefined : parseDurationFlag(flags["auto-sign"], "--auto-sign"),
  } satisfies { readonly [Name in keyof EmulatorOptions]: EmulatorOptions[Name] | undefined };
  return omitUndefined(options) as EmulatorOptions;
}

/** `https://sandbox.example` is the router's address, `eu-1=https://eu-1.sandbox.example` a cluster's. */
function parsePublicUrls(given: readonly string[]): Pick<EmulatorOptions, "publicUrl" | "clusterUrls"> {
  const named = given.map((text) => /^(?:([\w.-]+)=)?(.*)$/s.exec(text) as unknown as [string, string?, string?]);
  const routerUrls = named.filter(([, cluster]) => cluster === undefined);
  if (routerUrls.length > 1)
    throw new UsageError("--public-url must name the cluster of each further address (CLUSTER=URL)");
  const [url] = routerUrls.map(([, , text = ""]) => parseBaseUrlFlag(text, "--public-url"));
  const clusterUrls = named.flatMap(([, cluster, text = ""]) =>
    cluster === undefined ? [] : [[cluster, parseBaseUrlFlag(text, `--public-url ${cluster}`)] as const],
  );
  return {
    ...(url !== undefined && { publicUrl: url }),
    ...(clusterUrls.length > 0 && { clusterUrls: Object.fromEntries(clusterUrls) }),
  };
}

function parseHistorySize(size: string | undefined): number | undefined {
  if (!size) return undefined;
  return size === "0" ? 0 : parseSizeFlag(size, "SVC_HISTORY");
}

function parseRateLimit(limit: string | undefined): number | undefined {
  if (!limit) return undefined;
  if (/^\d+$/.test(limit)) return Number(limit);
  throw new UsageError(`SVC_RATE_LIMIT must be a number at least 0, got "${limit}"`);
}

/** A copy has no state to continue with, so it is stored only if a new file is named for it. */
export const isStateless = ({ ephemeral, from, file }: Partial<CommandInputOf<EmulatorFlags>["flags"]>): boolean =>
  ephemeral === true || (from !== undefined && file === undefined);

const omitUndefined = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

async function resolveSeed(name: string, host: Host): Promise<EmulatorOptions["seed"]> {
  if (name === "demo" || name === "empty") return name;
  return (await readDocument(host, name, "--seed")) as object;
}

function parseStrict(value: string | true | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (value === true || value === "") return strictChecks;
  const names = value.split(",");
  for (const name of names) {
    if (!isOneOf(strictChecks, name))
      throw new UsageError(`--strict: unknown "${name}". ${formatSuggestion(name, strictChecks)}`);
  }
  return names;
}

function parseAllowedReceivers(hosts: readonly string[] | undefined): readonly string[] | undefined {
  const wrong = hosts?.find((one) => !isHostPattern(one));
  if (wrong === undefined) return hosts;
  const suggestedHost = suggestHostPattern(wrong);
  const hint = suggestedHost === undefined ? {} : { hint: `Did you mean ${suggestedHost}?` };
  throw new UsageError(`--webhook-allow must be ${hostForms}, got "${wrong}"`, hint);
}

function retryScheduleIn(list: string | undefined): readonly string[] | undefined {
  const delays = list?.split(",").map((delay) => delay.trim());
  for (const delay of delays ?? []) {
    const ms = parseDurationFlag(delay, "--retry-schedule");
    if (ms > 0 && ms <= maxRetryDelayMs) continue;
    throw new UsageError(`--retry-schedule must be durations from 1ms to 365d, got "${delay}"`);
  }
  return delays;
}

function parseSpeed(given: number | undefined): number | undefined {
  if (given === undefined || given > 0) return given;
  throw new UsageError(`--clock-speed must be a number above 0, got "${given}"`, {
    hint: "For example, 60 runs an hour in a minute. To stop the clock, use --clock manual.",
  });
}

function parseClockStart(text: string | undefined): string | undefined {
  if (text !== undefined && Number.isNaN(Date.parse(text)))
    throw new UsageError(`--clock-start must be a time (2031-01-02T03:04:05Z), got "${text}"`);
  return text;
}
