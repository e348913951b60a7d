import { setFlagsFromString } from "node:v8";
import { omitUndefined, tryParseJson } from "../../base/object.ts";
import {
  hasCollector,
  type OtelEnvironment,
  readTraceparent,
  readTracestate,
  type TraceContext,
} from "../../base/otel.ts";
import type { CheckedCall } from "../../client/checked-call.ts";
import { type Client, createClient, type ExchangeObserver } from "../../client/client.ts";
import type { Credentials } from "../../client/published.d.ts";
import { buildRequest, type HttpRequest } from "../../client/request.ts";
import type { Transport, TransportOptions } from "../../client/transport.ts";
import { lookupHost } from "../../files/machine.ts";
import type { Context, ServiceTarget } from "../command.ts";
import type { Output } from "../output/output.ts";
import type { GlobalOptions } from "../parse/globals.ts";
import type { Host } from "../process/host.ts";
import {
  maskBodySecrets,
  maskUrlSecrets,
  redactBody,
  redactHeader,
  redactUrlValues,
  rememberSentSecrets,
} from "../process/redact.ts";

/** Creates a client that is closed at the end of the run. */
export async function openClient(
  { host, globals, output, onEnd }: Pick<Context, "host" | "globals" | "output" | "onEnd">,
  { baseUrls, credentials }: Pick<ServiceTarget, "baseUrls" | "credentials">,
  { connections, signal }: { readonly connections?: number | undefined; readonly signal?: AbortSignal } = {},
): Promise<Client> {
  const client = createClient({
    baseUrls,
    credentials,
    transport: await openTransport(host, globals, connections),
    tracing: createTraceHeaders(host.env),
    readable: true,
    wall: host.wall,
    signal,
    observer: createObserver(globals, output, host),
    timeoutMs: globals.timeoutMs,
    retries: globals.retries,
    maxWaitMs: globals.maxWaitMs,
  });
  onEnd(() => client.close());
  return client;
}

export async function openTransport(
  { env }: Pick<Host, "env">,
  { timeoutMs, maxResponseBytes }: Pick<GlobalOptions, "timeoutMs" | "maxResponseBytes">,
  connections?: number,
): Promise<Transport> {
  const usesProxy = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"].some((name) => Boolean(env[name]));
  const findProxy = usesProxy ? (await import("./proxies.ts")).readProxies(env) : undefined;
  return openDirectTransport({ findProxy, connections, connectTimeoutMs: timeoutMs, maxResponseBytes });
}

/** Loads the HTTP modules, just before a request. Without `findProxy`, all connections are direct. */
export async function openDirectTransport(options: TransportOptions = {}): Promise<Transport> {
  const { createTransport } = await import("../../client/transport.ts");
  return disableWasmOptimization(createTransport({ connect: { lookup: lookupHost }, ...options }));
}

/**
 * undici parses HTTP with WebAssembly, which V8 optimizes in the background. The optimization takes longer than the
 * rest of a short command, and saves nothing in a command with thousands of requests. The process waits for it at its
 * end. V8 decides when the parser is loaded, for the first response. The flags are restored afterwards, because cached
 * code depends on them.
 */
const disableWasmOptimization = (transport: Transport): Transport => ({
  ...transport,
  async send(request, options) {
    setFlagsFromString("--no-wasm-tier-up --no-wasm-dynamic-tiering");
    try {
      return await transport.send(request, options);
    } finally {
      setFlagsFromString("--wasm-tier-up --wasm-dynamic-tiering");
    }
  },
});

/** Plans end up in logs of pipelines, so credentials and declared secrets are masked. */
export async function printPlan(
  call: CheckedCall,
  contentType: string | undefined,
  context: Context,
  givenCredentials: Credentials = {},
): Promise<void> {
  const { globals } = context;
  // A dry run does not start an embedded emulator just to print its address.
  const { name } = call.operation.service;
  const service = name === "storage" ? "contracts" : name;
  const target = globals.emulator
    ? { baseUrls: { [service]: "http://emulator" }, credentials: undefined }
    : await context.target(service);
  const credentials = target.credentials && { ...target.credentials, ...givenCredentials };
  const request = buildRequest(call, target.baseUrls, credentials, { contentType });
  return showPlannedRequest(
    request,
    typeof request.body === "string" ? call.args.body : request.body && unshownBody,
    context,
  );
}

/** Stands for a body that is not shown. */
export const unshownBody = "[bytes]";

/** Shows a request that is not sent, without its secrets. */
export async function showPlannedRequest(
  { method, url: fullUrl, headers }: Pick<HttpRequest, "method" | "url" | "headers">,
  body: unknown,
  { output }: Pick<Context, "output">,
): Promise<void> {
  const url = maskUrlSecrets(fullUrl);
  const redactedHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, redactHeader(name, value)]),
  );
  const content = maskBodySecrets(body);
  if (output.format !== "table") {
    return output.show(omitUndefined({ dry_run: true, method, url, headers: redactedHeaders, body: content }));
  }
  const lines = Object.entries(redactedHeaders).map(([name, value]) => `${name}: ${value}`);
  await output.print(`${method} ${url}`, ...lines, ...(content === undefined ? [] : [""]));
  if (typeof content === "string") await output.printContent([Buffer.from(`${content}\n`)], true);
  else if (content !== undefined) await output.printDocument(content, 2);
  await output.note("Dry run: nothing was sent");
}

function createObserver(globals: GlobalOptions, output: Output, host: Host): ExchangeObserver {
  const warn = (line: string) => void output.warn(line);
  const reportedKeys = new Set<string>();
  return {
    onRequest(request) {
      rememberSentSecrets(host, request);
      if (!globals.debug) return;
      warn(`> ${request.method} ${redactUrlValues(request.url)}`);
      for (const [name, value] of Object.entries(request.headers)) warn(`> ${name}: ${redactHeader(name, value)}`);
      if (typeof request.body === "string") warn(`> ${formatBodyLine(request.body)}`);
    },
    onResponse(request, { status, headers }, durationMs) {
      const id = headers["x-request-id"] ? ` ${headers["x-request-id"]}` : "";
      if (globals.verbose) warn(`${request.method} ${redactUrlValues(request.url)} ${status} ${durationMs} ms${id}`);
      if (!globals.debug) return;
      for (const [name, value] of Object.entries(headers)) warn(`< ${name}: ${redactHeader(name, value)}`);
    },
    onRetry(_request, { attempt, waitMs, reason }) {
      const seconds = (waitMs / 1_000).toFixed(1);
      if (reason === "status 429") void output.note(`rate limited, resuming in ${seconds} s`);
      else if (globals.verbose) warn(`retry ${attempt} in ${seconds} s: ${reason}`);
    },
    onDrift(operationId, drift) {
      const lines = globals.verbose ? drift : [formatDrift(drift)];
      for (const line of lines.map((text) => `The response of ${operationId} differs from its declaration: ${text}`)) {
        // A command that polls would repeat the same warning.
        if (reportedKeys.has(line)) continue;
        reportedKeys.add(line);
        // Perhaps another server responded, so --quiet does not hide this.
        if (drift.some((difference) => difference.endsWith(" instead of JSON"))) warn(line);
        else void output.note(line);
      }
    },
  };
}

const maxDifferences = 3;

const formatDrift = (drift: readonly string[]): string => {
  const differences = drift.slice(0, maxDifferences).join("; ");
  return drift.length <= maxDifferences
    ? differences
    : `${differences}; ${drift.length - maxDifferences} more with --verbose`;
};

function formatBodyLine(text: string): string {
  const body = tryParseJson(text);
  return body === undefined ? `[${Buffer.byteLength(text)} bytes]` : JSON.stringify(redactBody(body));
}

/** Variables of OpenTelemetry: "Environment Variables as Context Propagation Carriers". */
export const readParentContext = ({ TRACEPARENT }: OtelEnvironment): TraceContext | undefined =>
  readTraceparent(TRACEPARENT);

/** The trace state has no meaning without its parent (W3C Trace Context, 3.3). */
export const buildChildVariables = (env: OtelEnvironment, traceparent: string): OtelEnvironment => ({
  TRACEPARENT: traceparent,
  TRACESTATE: readParentContext(env) && readTracestate(env.TRACESTATE),
});

function createTraceHeaders(env: OtelEnvironment): Readonly<Record<string, string>> | undefined {
  if (!hasCollector(env) || !readParentContext(env)) return undefined;
  return omitUndefined({ traceparent: env.TRACEPARENT, tracestate: readTracestate(env.TRACESTATE) });
}
