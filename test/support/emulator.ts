import type { TestContext } from "node:test";
import { type Dispatcher, request } from "undici";
import { defaultSettings } from "../../emulator/domain/settings.ts";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../emulator/index.ts";
import "./identity/key-pairs.ts";
import { addCleanup } from "./cleanup.ts";

/** A complete response, to compare with deepEqual. `body` is parsed if it is JSON, and a string otherwise. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface TestRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Send = (method: string, path: string, request?: TestRequest) => Promise<TestResponse>;

export interface TestEmulator extends Emulator {
  /** Sends a request to the router, without credentials. */
  readonly router: Send;
  /** Sends a request to the contract API of the first cluster, with the API key of its first workspace. */
  readonly api: Send;
  /** Sends a request to the control plane: `control("POST", "clock/advance", { body: { by: "PT5M" } })`. */
  readonly control: Send;
}

/**
 * Starts an emulator for one test: in memory, with the demo seed, free ports and a manual clock at
 * 2031-01-02T03:04:05Z. The time limit of chats equals the others, because a loaded machine is slow. The emulator is
 * closed when the test ends.
 */
export async function startTestEmulator(
  t: Pick<TestContext, "after">,
  options: EmulatorOptions = {},
): Promise<TestEmulator> {
  const emulator = await startEmulator({
    ephemeral: options.file === undefined,
    clock: { mode: "manual", start: "2031-01-02T03:04:05Z" },
    chatUpstreamTimeoutMs: defaultSettings.upstreamTimeoutMs,
    log: reportBug,
    ...options,
  });
  addCleanup(t, () => emulator.close());
  const first = emulator.clusters[0]!;
  const key = { "client-id": first.clientId ?? "", "client-secret": first.clientSecret ?? "" };
  return Object.assign(emulator, {
    router: createSender(emulator.routerUrl),
    api: createSender(first.url, key),
    control: createSender(`${emulator.routerUrl}/_emulator`, { authorization: `Bearer ${emulator.token}` }),
  });
}

/** Prints the message of a bug, which the response does not contain. */
function reportBug(message: string): void {
  if (message.startsWith("bug in ")) process.stderr.write(`${message}\n`);
}

/** Default headers of a client without preferences. */
const modest = { accept: "*/*", "user-agent": "node" };

/**
 * Creates a function that sends requests to a base URL and reads whole responses. Strings and Buffers are sent
 * unchanged. `fetch` would take four times as long, which is noticeable in a test of ten requests.
 */
export function createSender(base: string, always: Readonly<Record<string, string>> = {}): Send {
  return async (method, path, { body, headers } = {}) => {
    const isBytes = typeof body === "string" || body instanceof Uint8Array;
    const response = await request(`${base}${path.startsWith("/") ? path : `/${path}`}`, {
      method: method as Dispatcher.HttpMethod,
      headers: mergeHeaders(modest, typeOf(body), always, headers),
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
    });
    return {
      status: response.statusCode,
      headers: createHeaders(response.headers),
      body: parseJsonOrText(await response.body.text()),
    };
  };
}

/** As with `fetch`, bytes get no content type. */
function typeOf(body: unknown): Readonly<Record<string, string>> {
  if (body === undefined || body instanceof Uint8Array) return {};
  return { "content-type": typeof body === "string" ? "text/plain;charset=UTF-8" : "application/json" };
}

/** Merges headers. The last value of a name wins, independently of case, and is sent as spelled. */
function mergeHeaders(...all: readonly (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const pairs = all.flatMap((headers) => Object.entries(headers ?? {}));
  return Object.fromEntries(new Map(pairs.map((pair) => [pair[0].toLowerCase(), pair])).values());
}

function createHeaders(all: Dispatcher.ResponseData["headers"]): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(all)) {
    for (const value of [values ?? []].flat()) headers.append(name, value);
  }
  return headers;
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns status and body of a response, for whole comparisons. */
export const pickStatusAndBody = ({ status, body }: TestResponse): { status: number; body: unknown } => ({
  status,
  body,
});
