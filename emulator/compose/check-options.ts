import * as z from "zod";
import { dictionary, retrySchedule } from "../../src/api/shapes.ts";
import { strictChecks } from "../../src/api/strict-checks.ts";
import { webhookJsonForms } from "../../src/base/json.ts";
import { isSchemaName, parsePostgresUrl } from "../../src/base/postgres-url.ts";
import { formatSuggestion } from "../../src/base/text.ts";
import { hostForms, isHostPattern, suggestHostPattern } from "../../src/base/urls.ts";
import { listOptionalSchemes } from "../../src/schemes/webhook-schemes.ts";
import { ClockMode } from "../clock/virtual-clock.ts";
import { isRange } from "../http/trusted-proxies.ts";
import type { EmulatorOptions } from "../published.d.ts";
import { InvalidOptionsError } from "./options.ts";

const milliseconds = z.number().min(0);
const bytes = z.int().min(0);
const createCheck = <T>(is: (value: unknown) => boolean, what: string) => z.custom<T>(is, what);
const createFunctionCheck = <Name extends keyof EmulatorOptions>() =>
  createCheck<NonNullable<EmulatorOptions[Name]>>((value) => typeof value === "function", "must be a function");

const shape = {
  port: z.int().min(0).max(65_535),
  host: z.string(),
  allowedHosts: z.array(z.string()),
  trustedProxies: z.array(
    createCheck<string>((text) => isRange(String(text)), "must be an address or a range (10.0.0.0/8)"),
  ),
  clusterUrls: dictionary(createCheck<string>((text) => isOrigin(String(text)), "must be a URL without a path")),
  file: z.string(),
  store: createCheck<string>((value) => typeof value === "string", "must be a URL").check((context) => {
    const problem = storeProblem(String(context.value));
    if (problem !== undefined) context.issues.push({ code: "custom", input: "", message: problem });
  }),
  schema: createCheck<string>(
    (value) => typeof value === "string" && isSchemaName(value),
    "must be lower-case letters, digits and underscores",
  ),
  onLeaderChange: createFunctionCheck<"onLeaderChange">(),
  onLeadershipRegained: createFunctionCheck<"onLeadershipRegained">(),
  leaseMs: z.number().min(100).max(60_000),
  signal: z.instanceof(AbortSignal),
  ephemeral: z.boolean(),
  runFile: z.string(),
  seed: createCheck<NonNullable<EmulatorOptions["seed"]>>(
    (value) => typeof value === "string" || (typeof value === "object" && value !== null),
    "must be a name or a document",
  ),
  from: z.string(),
  historyBytes: bytes,
  clock: z.strictObject({
    mode: ClockMode.optional(),
    speed: z.number().positive().optional(),
    start: createCheck<string>((text) => !Number.isNaN(Date.parse(String(text))), "must be an ISO time").optional(),
  }),
  graceMs: milliseconds,
  token: z.string().min(1),
  strict: createCheck<Iterable<string>>(isIterable, "must be a list of names").transform((names, context) => {
    for (const name of names) {
      if (!(strictChecks as readonly string[]).includes(name))
        context.addIssue(`unknown strict check "${name}". ${formatSuggestion(name, strictChecks)}`);
    }
    return names;
  }),
  otel: createCheck<NonNullable<EmulatorOptions["otel"]>>(isVariables, "must be variables, such as process.env"),
  observed: z.string().min(1),
  log: createFunctionCheck<"log">(),
  publicUrl: z.url(),
  lenientSlashes: z.boolean(),
  deterministic: z.boolean(),
  upstreamTimeoutMs: milliseconds,
  chatUpstreamTimeoutMs: milliseconds,
  rateLimit: z.number().min(0),
  webhookAllow: z.array(
    z.string().check((context) => {
      const { value } = context;
      if (isHostPattern(value)) return;
      const likely = suggestHostPattern(value);
      const message = `must be ${hostForms}, got "${value}"${likely === undefined ? "" : `. Did you mean ${likely}?`}`;
      context.issues.push({ code: "custom", input: value, message });
    }),
  ),
  retrySchedule,
  workerTick: z.boolean(),
  webhookSchemes: z.array(z.enum(listOptionalSchemes().map(({ name }) => name))),
  traceWebhooks: z.boolean(),
  webhookJson: z.enum(webhookJsonForms),
  autoSignMs: milliseconds,
  webhookConnectTimeoutMs: milliseconds,
  webhookResponseTimeoutMs: milliseconds,
  requestLogBytes: bytes,
  inboxBytes: bytes,
  unreadAnswerTimeoutMs: milliseconds,
} satisfies { readonly [Name in keyof EmulatorOptions]-?: z.ZodType<NonNullable<EmulatorOptions[Name]>> };

const Options = z.strictObject(shape).partial();

/** Throws InvalidOptionsError, which lists all problems, because a misspelled option would have no effect. */
export function checkOptions(options: EmulatorOptions): void {
  const { error } = Options.safeParse(options);
  if (error) throw new InvalidOptionsError(`startEmulator: ${error.issues.flatMap(describeIssue).join("; ")}`);
  const { store, schema, file, ephemeral } = options;
  if (store !== undefined && (file !== undefined || ephemeral))
    throw new InvalidOptionsError(`startEmulator: store cannot be used with ${ephemeral ? "ephemeral" : "file"}`);
  if (schema !== undefined && store === undefined)
    throw new InvalidOptionsError("startEmulator: schema requires store");
}

/** Describes the problem with the URL of a store without quoting the URL. */
function storeProblem(url: string): string | undefined {
  try {
    parsePostgresUrl(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const { path, message } = issue;
  if (issue.code !== "unrecognized_keys")
    return [`${path.join(".")}${message.startsWith("must ") ? "" : ":"} ${message}`];
  const known = Object.keys(issue.path[0] === "clock" ? shape.clock.shape : shape);
  return issue.keys.map((key) => `unknown option "${[...issue.path, key].join(".")}". ${formatSuggestion(key, known)}`);
}

function isVariables(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((item) => item === undefined || typeof item === "string");
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\/[^/?#]+\/?$/.test(text);
}

function isIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}
