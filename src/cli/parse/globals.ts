import { parseDuration, parseIsoTime, parseSize } from "../../base/quantities.ts";
import { trimTrailing } from "../../base/text.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../derive/command-spec.ts";
import { UsageError } from "../process/failure.ts";

export const outputFormatNames = ["table", "json", "ndjson", "csv", "tsv"] as const;
export type OutputFormat = (typeof outputFormatNames)[number];

/** Flags that every command accepts, before or after its words. */
export const globalFlags: readonly FlagSpec[] = [
  createTextFlag("base-url", "URL", "Address of the services (SVC_BASE_URL)"),
  createSwitch("emulator", "Use the emulator of this folder, or one in this process"),
  createTextFlag("profile", "NAME", "Use the addresses and credentials of this profile (SVC_PROFILE)"),
  createSwitch("json", "Print the whole response as JSON; --json=a,b prints only these fields"),
  createTextFlag("fields", "A,B", "Print only these fields or columns"),
  createTextFlag("format", "FORMAT", "Output format", { choices: outputFormatNames }),
  createSwitch(
    "csv-safe",
    "For spreadsheets, with --format csv: put an apostrophe before cells that start like a formula (= + - @ tab CR)",
  ),
  createSwitch("wide", "Do not truncate tables to fit the window"),
  { flag: "color", type: "boolean", description: "Turn colors on or off (SVC_NO_COLOR, NO_COLOR, FORCE_COLOR)" },
  createSwitch("quiet", "Print no notes on standard error", { short: "q" }),
  createSwitch("verbose", "Print each request, its status and its retries on standard error"),
  createSwitch("debug", "Like --verbose, with headers, request bodies and stack traces; secrets are masked"),
  createTextFlag("timeout", "DURATION", "Maximum time of an attempt; longer if a command waits for deliveries", {
    default: "30s",
  }),
  createTextFlag(
    "max-response",
    "SIZE",
    "Maximum size of a response, such as 500MB (default: 256 MiB in memory, 16 GiB to a file or pipe)",
  ),
  createIntegerFlag("retries", "Maximum retries of requests that are safe to repeat", {
    min: 0,
    placeholder: "N",
    default: 3,
  }),
  createTextFlag("max-wait", "DURATION", "Maximum wait before a retry", { default: "60s" }),
  createSwitch("no-input", "Never prompt (SVC_NO_INPUT)"),
  createSwitch("no-annotations", "Print no annotations under GitHub Actions"),
  createSwitch("yes", "Confirm without a prompt", { short: "y" }),
];

export type GlobalOptions = Readonly<ReturnType<typeof readGlobals>>;

export function readGlobals(values: Readonly<Record<string, unknown>>) {
  const getText = (name: string) => values[name] as string | undefined;
  const isSet = (name: string) => values[name] === true;
  const parse = <T>(name: string, parseText: (text: string, flag: string) => T): T | undefined =>
    getText(name) === undefined ? undefined : parseText(getText(name)!, `--${name}`);
  if (isSet("emulator") && getText("base-url") !== undefined) {
    throw new UsageError("--emulator cannot be used with --base-url");
  }
  const format = getText("format");
  if (isSet("json") && format !== undefined && format !== "json") {
    const fields = getText("fields");
    throw new UsageError(`--json cannot be used with --format ${format}`, {
      hint: fields === undefined ? "See svc help formats." : `Choose fields in any format with --fields ${fields}.`,
    });
  }
  if (isSet("csv-safe") && format !== "csv") throw new UsageError("--csv-safe requires --format csv");
  return {
    baseUrl: parse("base-url", parseBaseUrlFlag),
    emulator: isSet("emulator"),
    profile: getText("profile"),
    json: isSet("json") || format === "json",
    fields: parse("fields", parseFieldNames),
    format: format as OutputFormat | undefined,
    csvSafe: isSet("csv-safe"),
    wide: isSet("wide"),
    color: values.color as boolean | undefined,
    quiet: isSet("quiet"),
    verbose: isSet("verbose") || isSet("debug"),
    debug: isSet("debug"),
    /** Timeout of a request. If undefined, the client's default applies, or more for slow operations. */
    timeoutMs: parse("timeout", parseDurationFlag),
    maxResponseBytes: parse("max-response", parseSizeFlag),
    retries: Number(values.retries ?? 3),
    maxWaitMs: parseDurationFlag(getText("max-wait") ?? "60s", "--max-wait"),
    noInput: isSet("no-input"),
    yes: isSet("yes"),
  };
}

function parseFieldNames(text: string): readonly string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0) throw new UsageError(`--fields must be at least one field, got "${text}"`);
  return names;
}

/** Creates a parser of a value that throws a usage error if the value is not what is expected. */
const createFlagParser =
  (parse: (text: string) => number | undefined, expected: string) =>
  (text: string, flag: string): number => {
    const value = parse(text);
    if (value !== undefined && !Number.isNaN(value)) return value;
    throw new UsageError(`${flag} must be ${expected}, got "${text}"`);
  };

/** Parses `30s`, `2h35m` or `PT2H35M` as milliseconds. */
export const parseDurationFlag = createFlagParser(parseDuration, "a duration (30s, PT2H35M)");

/** Parses an ISO time as milliseconds. */
export const parseTimeFlag = createFlagParser(parseIsoTime, "a time (2031-01-02T03:04:05Z)");

/** Parses `500MB` or `2GiB` as bytes. */
export const parseSizeFlag = createFlagParser(parseSize, "a size (500MB, 2GiB)");

/** Parses an http or https URL without a trailing slash. Throws a usage error otherwise. */
export function parseUrlFlag(text: string, name: string, examples = "https://api.example.com"): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    const isHostOnly = /^(localhost|[\w-]+(\.[\w-]+)+)(:\d{1,5})?(\/|$)/.test(text);
    const hint = isHostOnly ? `Did you mean http${/^(localhost|127\.)/.test(text) ? "" : "s"}://${text}?` : undefined;
    throw new UsageError(`${name} must be a URL (${examples}), got "${text}"`, { hint });
  }
  if (url.username || url.password) throw new UsageError(`${name} must not contain credentials`);
  return text;
}

/** Parses a base URL without query and fragment, because appended paths would become part of them. */
export function parseBaseUrlFlag(text: string, name: string): string {
  const url = trimTrailing(parseUrlFlag(text, name), "/");
  const invalidCharacter = /[?#\s]/.exec(text)?.[0];
  if (invalidCharacter === undefined) return url;
  const invalidPart = invalidCharacter === "?" ? "a query" : invalidCharacter === "#" ? "a fragment" : "blanks";
  throw new UsageError(`${name} must be a URL without ${invalidPart}, got "${text}"`);
}
