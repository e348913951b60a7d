import { resolve } from "node:path";
import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { strictnesses } from "../../../api/strictnesses.ts";
import { hostForms, hostMeant, isHostPattern } from "../../../base/host-name.ts";
import { isOneOf } from "../../../base/one-of.ts";
import { didYouMean } from "../../../base/suggest.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import type { InputOf } from "../../command.ts";
import { keptStateFile } from "../../connection/snapshot-names.ts";
import { UsageError } from "../../failure.ts";
import type { Host } from "../../host.ts";
import { checkedOutput } from "../../output/file.ts";
import { readDocument } from "../../parse/body.ts";
import { checkedBaseUrl, checkedDuration, checkedSize } from "../../parse/globals.ts";
import { controlTokenSetting } from "../../settings.ts";

/** How an emulator is started: the flags of `start` and of `exec`. A test compares defaults with the emulator's own. */
export const emulatorFlags = (defaultPort: number) =>
  [
    {
      flag: "port",
      type: "integer",
      least: 0,
      most: 65_535,
      description: "Port of the router; the clusters take the next ones; 0: all free ports",
      default: defaultPort,
    },
    {
      flag: "host",
      type: "text",
      placeholder: "ADDRESS",
      description: "Address to listen on; anything but loopback is open to others",
      default: "127.0.0.1",
    },
    {
      flag: "allowed-host",
      type: "text",
      placeholder: "NAME",
      repeatable: true,
      description: "Accept this name in the Host header",
    },
    {
      flag: "trusted-proxy",
      type: "text",
      placeholder: "CIDR",
      repeatable: true,
      description: "Believe X-Forwarded-For, -Proto and -Host from this address or range, and from no other",
    },
    {
      flag: "public-url",
      type: "text",
      placeholder: "URL|CLUSTER=URL",
      repeatable: true,
      description: "What clients believe the address of the router, or of a cluster, to be; left out: where it listens",
    },
    {
      flag: "file",
      type: "text",
      placeholder: "FILE",
      description: "Keep the state in this file; left out: .svc/emulator.json, or in memory for svc emulator exec",
    },
    { flag: "ephemeral", type: "switch", description: "Keep the state in memory" },
    {
      flag: "run-file",
      type: "text",
      placeholder: "FILE",
      description: "Write pid, addresses and token to this file too; they stand beside the state in any case",
    },
    {
      flag: "seed",
      type: "text",
      placeholder: "NAME|FILE",
      description: "Starting state: demo, empty, or a file",
      default: "demo",
    },
    {
      flag: "from",
      type: "text",
      placeholder: "NAME|FILE",
      description:
        "Begin with a copy of this snapshot, or of the state in a file: on free ports, and in memory, unless a port and a new file are named",
    },
    {
      flag: "history",
      type: "text",
      placeholder: "SIZE",
      description:
        "How much of what led to the present state is kept beside it, to rewind to: bytes, or 64KiB, 1GiB; 0: nothing is kept, and nothing can be taken back",
      default: "256MiB",
    },
    {
      flag: "clock",
      type: "text",
      placeholder: "MODE",
      choices: ["real", "manual", "auto"],
      description: "How virtual time passes: by itself, when it is moved, or in leaps to what is due next",
      default: "real",
    },
    {
      flag: "clock-speed",
      type: "number",
      description: "Virtual seconds per second; left out, a state that is there goes on at its own",
      default: 1,
    },
    {
      flag: "clock-start",
      type: "text",
      placeholder: "TIME",
      description: "ISO time at which a new state begins; left out: now",
    },
    {
      flag: "strict",
      type: "text",
      placeholder: "LIST",
      optionalValue: true,
      description: `Turn leniencies off: ${strictnesses.join(", ")}; all without a list`,
    },
    { flag: "lenient", type: "text", placeholder: "LIST", description: "Turn strictnesses off: slashes" },
    {
      flag: "deterministic",
      type: "switch",
      description: "Same seed, same calls and same --port give the same bytes: addresses in answers hold the port",
    },
    {
      flag: "upstream-timeout",
      type: "text",
      placeholder: "DURATION",
      description: "How long the router waits for a cluster",
      default: "30s",
    },
    {
      flag: "rate-limit",
      type: "integer",
      least: 0,
      description: "Requests a second per workspace of the contract API; 0: any number",
      default: 0,
    },
    {
      flag: "webhook-allow",
      type: "text",
      placeholder: "HOST",
      repeatable: true,
      description: "Send webhooks to this host too, beside this machine: host, host:port or *.domain",
    },
    {
      flag: "webhook-connect-timeout",
      type: "text",
      placeholder: "DURATION",
      description: "How long an attempt waits for a connection",
      default: "5s",
    },
    {
      flag: "webhook-response-timeout",
      type: "text",
      placeholder: "DURATION",
      description: "How long an attempt waits for the answer",
      default: "60s",
    },
    {
      flag: "request-log-bytes",
      type: "integer",
      least: 0,
      description: "How much of the requests received is kept in memory, the newest",
      default: 4_194_304,
    },
    {
      flag: "inbox-bytes",
      type: "integer",
      least: 0,
      description: "How much of what is forwarded to each cluster is kept in memory, the newest",
      default: 4_194_304,
    },
    {
      flag: "unread-answer-timeout",
      type: "text",
      placeholder: "DURATION",
      description: "Cut callers off who take nothing of their answer for so long",
      default: "2m",
    },
    {
      flag: "worker-tick",
      type: "switch",
      description: "Round retries up to the next whole minute, as the real worker does",
    },
    {
      flag: "standard-webhooks",
      type: "switch",
      description: "Add the Standard Webhooks headers (webhook-id, webhook-timestamp, webhook-signature)",
    },
    {
      flag: "trace-webhooks",
      type: "switch",
      description: "Add a traceparent header to webhooks, in the trace of what led to them",
    },
    {
      flag: "auto-sign",
      type: "text",
      placeholder: "DURATION",
      description: "Let each signatory of what is sent from now on sign by itself after this long, in virtual time",
    },
  ] as const satisfies readonly FlagSpec[];

type EmulatorFlags = ReturnType<typeof emulatorFlags>;

/** The options of these flags. Paths are relative to the folder of the run; the token may come from the environment. */
export async function emulatorOptions({ flags }: InputOf<EmulatorFlags>, host: Host): Promise<EmulatorOptions> {
  const duration = (
    name: "upstream-timeout" | "unread-answer-timeout" | `webhook-${"connect" | "response"}-timeout` | "auto-sign",
  ) => (flags[name] === undefined ? undefined : checkedDuration(flags[name], `--${name}`));
  const clock = { mode: flags.clock, speed: speedOf(flags["clock-speed"]), start: clockStart(flags["clock-start"]) };
  const { file, from, "run-file": runFile } = flags;
  const options = {
    port: flags.port ?? (from === undefined ? undefined : 0),
    host: flags.host,
    allowedHosts: flags["allowed-host"],
    trustedProxies: flags["trusted-proxy"],
    ...publicUrls(flags["public-url"] ?? []),
    file: file === undefined ? undefined : resolve(host.cwd, file),
    historyBytes: historyOf(flags.history),
    from: from === undefined ? undefined : await keptStateFile(from, host),
    ephemeral: keepsNothing(flags) || undefined,
    runFile: runFile === undefined ? undefined : await checkedOutput(host, runFile, "--run-file"),
    seed: await seedOf(flags.seed ?? "demo", host),
    clock: given(clock),
    token: controlTokenSetting(host)?.value,
    strict: strictOf(flags.strict),
    lenientSlashes: lenientOf(flags.lenient),
    deterministic: flags.deterministic,
    upstreamTimeoutMs: duration("upstream-timeout"),
    rateLimit: flags["rate-limit"],
    webhookAllow: allowedReceivers(flags["webhook-allow"]),
    webhookConnectTimeoutMs: duration("webhook-connect-timeout"),
    webhookResponseTimeoutMs: duration("webhook-response-timeout"),
    requestLogBytes: flags["request-log-bytes"],
    inboxBytes: flags["inbox-bytes"],
    unreadAnswerTimeoutMs: duration("unread-answer-timeout"),
    workerTick: flags["worker-tick"],
    standardWebhooks: flags["standard-webhooks"],
    traceWebhooks: flags["trace-webhooks"],
    autoSignMs: duration("auto-sign"),
  };
  return given(options) as EmulatorOptions;
}

/** `https://sandbox.example` is that of the router, `eu-1=https://eu-1.sandbox.example` that of a cluster. */
function publicUrls(given: readonly string[]): Pick<EmulatorOptions, "publicUrl" | "clusterUrls"> {
  const named = given.map((text) => /^(?:([\w.-]+)=)?(.*)$/s.exec(text) as unknown as [string, string?, string?]);
  const ofRouter = named.filter(([, cluster]) => cluster === undefined);
  if (ofRouter.length > 1) throw new UsageError("--public-url: the router has one address; name the cluster of others");
  const [url] = ofRouter.map(([, , text = ""]) => checkedBaseUrl(text, "--public-url"));
  const ofClusters = named.flatMap(([, cluster, text = ""]) =>
    cluster === undefined ? [] : [[cluster, checkedBaseUrl(text, `--public-url ${cluster}`)] as const],
  );
  return {
    ...(url !== undefined && { publicUrl: url }),
    ...(ofClusters.length > 0 && { clusterUrls: Object.fromEntries(ofClusters) }),
  };
}

function historyOf(size: string | undefined): number | undefined {
  if (size === undefined) return undefined;
  return size === "0" ? 0 : checkedSize(size, "--history");
}

/** A copy has no state of its own to go on with: it is kept where a new file is named for it. */
export const keepsNothing = ({ ephemeral, from, file }: Partial<InputOf<EmulatorFlags>["flags"]>): boolean =>
  ephemeral === true || (from !== undefined && file === undefined);

const given = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

async function seedOf(name: string, host: Host): Promise<EmulatorOptions["seed"]> {
  if (name === "demo" || name === "empty") return name;
  return (await readDocument(host, name, "--seed")) as object;
}

function strictOf(value: string | true | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (value === true || value === "") return strictnesses;
  const names = value.split(",");
  for (const name of names) {
    if (!isOneOf(strictnesses, name))
      throw new UsageError(`--strict: unknown "${name}". ${didYouMean(name, strictnesses)}`);
  }
  return names;
}

function allowedReceivers(hosts: readonly string[] | undefined): readonly string[] | undefined {
  const wrong = hosts?.find((one) => !isHostPattern(one));
  if (wrong === undefined) return hosts;
  const likely = hostMeant(wrong);
  const hint = likely === undefined ? {} : { hint: `Did you mean ${likely}?` };
  throw new UsageError(`--webhook-allow takes ${hostForms}, not "${wrong}"`, hint);
}

function lenientOf(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  if (value !== "slashes") throw new UsageError(`--lenient: unknown "${value}". Known: slashes.`);
  return true;
}

function speedOf(given: number | undefined): number | undefined {
  if (given === undefined || given > 0) return given;
  throw new UsageError(`--clock-speed: ${given} is not above 0`, {
    hint: "60 lets an hour pass in a minute; --clock manual has time stand still.",
  });
}

function clockStart(text: string | undefined): string | undefined {
  if (text !== undefined && Number.isNaN(Date.parse(text)))
    throw new UsageError(`--clock-start takes an ISO time, not "${text}"`);
  return text;
}
