import type { TestContext } from "node:test";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../emulator/index.ts";
import { defaultSettings } from "../../emulator/world/settings.ts";

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

/** Sends requests to a base URL and reads the answers whole. A string or a Buffer is sent as it is. */
export function sender(base: string, always: Readonly<Record<string, string>> = {}): Send {
  return async (method, path, { body, headers } = {}) => {
    const isBytes = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(`${base}${path.startsWith("/") ? path : `/${path}`}`, {
      method,
      redirect: "manual",
      headers: {
        ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
        ...always,
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: parsed(await response.text()) };
  };
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
