import * as z from "zod";
import { strictChecks } from "../../src/api/control-plane.ts";
import { redactUrl } from "../../src/api/secrets.ts";
import { dictionary, retrySchedule } from "../../src/api/shapes.ts";
import { clockModes } from "../../src/base/clock.ts";
import { describeIssue } from "../../src/base/issues.ts";
import { webhookJsonForms } from "../../src/base/json.ts";
import { parseIsoTime } from "../../src/base/quantities.ts";
import { formatSuggestion } from "../../src/base/text.ts";
import {
  hostForms,
  isHostPattern,
  isSchemaName,
  parsePostgresUrl,
  schemaNameForm,
  suggestHostPattern,
} from "../../src/base/urls.ts";
import { listOptionalSchemes } from "../../src/schemes/webhook-schemes.ts";
import { isAddressRange } from "../http/trusted-proxies.ts";
import type { EmulatorOptions } from "../published.d.ts";
import { InvalidOptionsError, type OptionProblem } from "./options.ts";

const isText = (value: unknown): value is string => typeof value === "string";
const isFunction = (value: unknown): boolean => typeof value === "function";
const isTime = (value: unknown): boolean => isText(value) && !Number.isNaN(parseIsoTime(value));
const isOrigin = (value: unknown): boolean =>
  isText(value) && URL.canParse(value) && /^https?:\/\/[^/?#]+\/?$/.test(value);
/** Requests append paths to it. */
const isBaseUrl = (value: unknown): boolean =>
  isText(value) && URL.canParse(value) && /^https?:\/\/[^\s?#@]+$/.test(value) && !value.endsWith("/");
/** Clients send it in a header, where a blank would end it. */
const isToken = (value: unknown): boolean => isText(value) && /^[!-~]*$/.test(value);
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const isVariables = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((item) => item === undefined || isText(item));
const isIterable = (value: unknown): boolean => isObject(value) && Symbol.iterator in value;

const milliseconds = z.number().min(0);
/** An empty string is a variable that is not set. As a host, it is every address of this machine. */
const text = z.string().min(1);
const bytes = z.int().min(0);
const callback = z.custom<() => void>(isFunction, "must be a function");

const store = z.string("must be a URL").superRefine((url, context) => {
  try {
    parsePostgresUrl(url);
  } catch (error) {
    // The message does not contain the URL, which can contain a password.
    context.addIssue((error as Error).message);
  }
});

const webhookHost = z.custom<string>((host) => isText(host) && isHostPattern(host), {
  error: ({ input }) => {
    if (!isText(input)) return `must be ${hostForms}`;
    const likely = suggestHostPattern(input);
    return `must be ${hostForms}, got "${input}"${likely === undefined ? "" : `. Did you mean ${likely}?`}`;
  },
});

/** A string for which an error names the rule and the value. */
const describedText = (isValid: (value: unknown) => boolean, rule: string) =>
  z.custom<string>(isValid, {
    error: ({ input }) => `${rule}, got ${JSON.stringify(isText(input) ? redactUrl(input) : input)}`,
  });

const strict = z.custom<Iterable<string>>(isIterable, "must be a list of names").superRefine((names, context) => {
  for (const name of names) {
    if (!(strictChecks as readonly unknown[]).includes(name))
      context.addIssue(`unknown strict check "${name}". ${formatSuggestion(String(name), strictChecks)}`);
  }
});

const clock = z
  .strictObject({
    mode: z.enum(clockModes),
    speed: z.number().gt(0),
    start: z.custom<string>(isTime, "must be an ISO time"),
  })
  .partial();

/** Every option. The compiler compares the names and types with the published ones. */
const Options = z
  .strictObject({
    file: text,
    store,
    schema: z.custom<string>((name) => isText(name) && isSchemaName(name), `must be ${schemaNameForm}`),
    ephemeral: z.boolean(),
    seed: z.custom<NonNullable<EmulatorOptions["seed"]>>(
      (seed) => isText(seed) || isObject(seed),
      "must be a name or a document",
    ),
    from: text,
    historyBytes: bytes,
    clock,
    autoSignMs: milliseconds,
    port: z.int().min(0).max(65_535),
    host: text,
    allowedHosts: z.array(z.string()),
    trustedProxies: z.array(
      describedText((text) => isAddressRange(String(text)), "must be an address or a range (10.0.0.0/8)"),
    ),
    publicUrl: describedText(isBaseUrl, "must be an http or https URL without a trailing slash, query or user"),
    clusterUrls: dictionary(describedText(isOrigin, "must be a URL without a path")),
    webhookAllow: z.array(webhookHost),
    webhookSchemes: z.array(z.enum(listOptionalSchemes().map(({ name }) => name))),
    traceWebhooks: z.boolean(),
    webhookJson: z.enum(webhookJsonForms),
    retrySchedule,
    webhookConnectTimeoutMs: milliseconds,
    webhookResponseTimeoutMs: milliseconds,
    workerTick: z.boolean(),
    strict,
    observed: text,
    deterministic: z.boolean(),
    rateLimit: z.number().min(0),
    token: text.refine(isToken, "must be ASCII characters without blanks"),
    lenientSlashes: z.boolean(),
    upstreamTimeoutMs: milliseconds,
    chatUpstreamTimeoutMs: milliseconds,
    requestLogBytes: bytes,
    inboxBytes: bytes,
    unreadResponseTimeoutMs: milliseconds,
    graceMs: milliseconds,
    leaseMs: z.number().min(100).max(60_000),
    runFile: text,
    signal: z.instanceof(AbortSignal),
    log: callback,
    onLeaderChange: callback,
    onLeadershipRegained: callback,
    otel: z.custom<NonNullable<EmulatorOptions["otel"]>>(isVariables, "must be variables, such as process.env"),
  } satisfies { readonly [Name in keyof Required<EmulatorOptions>]: z.ZodType<EmulatorOptions[Name]> })
  .partial();

/** Throws InvalidOptionsError, which lists all problems, because a misspelled option would have no effect. */
export function checkOptions(options: EmulatorOptions): void {
  const { error } = Options.safeParse(options, { jitless: true });
  if (error) {
    const problems = error.issues.flatMap(toProblems);
    const lines = problems.map(({ path, message }) => `${path.join(".")}${message}`);
    throw new InvalidOptionsError(`startEmulator: ${lines.join("; ")}`, { problems });
  }
  const { store, schema, file, ephemeral } = options;
  if (store !== undefined && (file !== undefined || ephemeral))
    throw new InvalidOptionsError(`startEmulator: store cannot be used with ${ephemeral ? "ephemeral" : "file"}`);
  if (schema !== undefined && store === undefined)
    throw new InvalidOptionsError("startEmulator: schema requires store");
}

function toProblems(issue: z.core.$ZodIssue): OptionProblem[] {
  const path = issue.path.length === 0 ? ["the options"] : issue.path;
  const message = describeIssue(issue);
  if (issue.code !== "unrecognized_keys")
    return [{ path, message: `${message.startsWith("must ") ? "" : ":"} ${message}` }];
  const knownNames = Object.keys((path[0] === "clock" ? clock : Options).shape);
  return issue.keys.map((key) => ({
    path: [],
    message: `unknown option "${[...issue.path, key].join(".")}". ${formatSuggestion(key, knownNames)}`,
  }));
}
