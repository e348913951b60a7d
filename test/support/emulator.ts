import type { TestContext } from "node:test";
import { type Dispatcher, request } from "undici";
import { defaultSettings } from "../../emulator/domain/settings.ts";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../emulator/index.ts";
import "./identity/key-pairs.ts";

/** One answer, whole: compare it with deepEqual. `body` is parsed when it is JSON, text otherwise. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Send = (method: string, path: string, sent?: Sent) => Promise<Answer>;

export interface TestEmulator extends Emulator {
  /** The router, without credentials. */
  readonly router: Send;
  /** The contract API of the first cluster, with the API key of its first workspace. */
  readonly api: Send;
  /** The control plane: `control("POST", "clock/advance", { body: { by: "PT5M" } })`. */
  readonly ask: Send;
}

/**
 * An emulator for one test: the demo seed, all in memory, a manual clock that stands at 2031-01-02T03:04:05Z, free
 * ports, and for chats as long a patience as for others, since seconds are short on a loaded machine. It is closed when
 * the test ends.
 */
export async function emulator(t: Pick<TestContext, "after">, options: EmulatorOptions = {}): Promise<TestEmulator> {
  const started = await startEmulator({
    ephemeral: options.file === undefined,
    clock: { mode: "manual", start: "2031-01-02T03:04:05Z" },
    chatUpstreamTimeoutMs: defaultSettings.upstreamTimeoutMs,
    ...options,
  });
  t.after(() => started.close());
  const first = started.clusters[0]!;
  const key = { "client-id": first.clientId ?? "", "client-secret": first.clientSecret ?? "" };
  return Object.assign(started, {
    router: sender(started.routerUrl),
    api: sender(first.url, key),
    ask: sender(`${started.routerUrl}/_emulator`, { authorization: `Bearer ${started.token}` }),
  });
}

/** What a client says that asks for nothing in particular. */
const modest = { accept: "*/*", "user-agent": "node" };

/**
 * Sends requests to a base URL and reads the answers whole. A string or a Buffer is sent as it is. Not by `fetch`, whose
 * streams and checks take four times as long: a test of ten requests would feel it.
 */
export function sender(base: string, always: Readonly<Record<string, string>> = {}): Send {
  return async (method, path, { body, headers } = {}) => {
    const isBytes = typeof body === "string" || body instanceof Uint8Array;
    const answer = await request(`${base}${path.startsWith("/") ? path : `/${path}`}`, {
      method: method as Dispatcher.HttpMethod,
      headers: merged(modest, typeOf(body), always, headers),
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
    });
    return { status: answer.statusCode, headers: headersOf(answer.headers), body: parsed(await answer.body.text()) };
  };
}

/** As `fetch` has it: bytes may be anything. */
function typeOf(body: unknown): Readonly<Record<string, string>> {
  if (body === undefined || body instanceof Uint8Array) return {};
  return { "content-type": typeof body === "string" ? "text/plain;charset=UTF-8" : "application/json" };
}

/** The last one of a name counts, however it is spelled; it is sent as it was spelled. */
function merged(...all: readonly (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const pairs = all.flatMap((headers) => Object.entries(headers ?? {}));
  return Object.fromEntries(new Map(pairs.map((pair) => [pair[0].toLowerCase(), pair])).values());
}

function headersOf(all: Dispatcher.ResponseData["headers"]): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(all)) {
    for (const value of [values ?? []].flat()) headers.append(name, value);
  }
  return headers;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Status and body of an answer, for whole comparisons. */
export const plain = ({ status, body }: Answer): { status: number; body: unknown } => ({ status, body });
