import { setFlagsFromString } from "node:v8";
import { type Client, createClient } from "../../client/client.ts";
import type { Credentials } from "../../client/credentials.ts";
import type { BaseUrls } from "../../client/request.ts";
import type { Transport } from "../../client/transport.ts";
import type { Host } from "../host.ts";
import type { Output } from "../output/output.ts";
import type { Globals } from "../parse/globals.ts";
import { traceHeaders } from "../trace/carrier.ts";
import { createObserver } from "./verbose.ts";

/** A client as the flags of this run want it. */
export async function openClient(of: {
  host: Host;
  globals: Globals;
  output: Output;
  baseUrls: BaseUrls;
  credentials: Credentials;
  connections?: number | undefined;
}): Promise<Client> {
  const { host, globals, output, baseUrls, credentials } = of;
  const transport = await openTransport(host, globals, of.connections);
  return createClient({
    baseUrls,
    credentials,
    transport,
    tracing: traceHeaders(host.env),
    readable: true,
    wall: host.wall,
    observer: createObserver(globals, output, host),
    timeoutMs: globals.timeoutMs,
    retries: globals.retries,
    maxWaitMs: globals.maxWaitMs,
  });
}

/**
 * The way out of this machine, with the proxies of the environment and the limits of this run. What sends requests is
 * loaded here, when one is about to be sent.
 */
export async function openTransport(
  { env }: Pick<Host, "env">,
  { timeoutMs, maxAnswerBytes }: Pick<Globals, "timeoutMs" | "maxAnswerBytes">,
  connections?: number,
): Promise<Transport> {
  const { createTransport } = await import("../../client/transport.ts");
  const proxyFor = usesProxy(env) ? (await import("./proxies.ts")).readProxies(env) : undefined;
  const transport = createTransport({ proxyFor, connections, connectTimeoutMs: timeoutMs, maxAnswerBytes });
  // Jobs of many requests ask for connections.
  return connections === undefined ? withoutWasmOptimization(transport) : transport;
}

/**
 * undici parses HTTP with WebAssembly, which V8 optimizes in the background: that takes longer than all the rest of a
 * short command, and the process waits for it at its end. V8 decides when the parser is loaded, for the first response.
 * Afterwards the flags are those of the start again, since compiled code is cached for these.
 */
const withoutWasmOptimization = (transport: Transport): Transport => ({
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

const usesProxy = (env: Host["env"]): boolean =>
  ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"].some((name) => Boolean(env[name]));
