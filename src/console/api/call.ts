import { computed, signal } from "@preact/signals";
import { toFields, tryParseJson } from "../../base/object.ts";
import { fillTemplate } from "../../base/urls.ts";
import { formatQuery } from "../format.ts";
import {
  getOutline,
  type OperationId,
  type OperationInput,
  type OperationResult,
  type UntypedInput,
} from "./operations.ts";

/** The reason why a request failed, in words for the user. */
export class CallError extends Error {
  /** HTTP status; 0 if the emulator could not be reached. */
  readonly status: number;
  readonly hint: string | undefined;

  constructor(status: number, message: string, hint?: string) {
    super(message);
    this.status = status;
    this.hint = hint;
  }

  static fromResponse(status: number, body: unknown): CallError {
    // The contract API, whose transitions the buttons make, has its own format of errors.
    const { error = body } = toFields(body);
    const { message, hint } = toFields(error);
    const words = typeof message === "string" ? message : `The emulator responded with status ${status}.`;
    return new CallError(status, words, typeof hint === "string" ? hint : undefined);
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }

  /** Names the address, because the page can only reconnect to it. Its port may be that of a proxy. */
  static readonly createUnreachable = (): CallError => {
    const { hostname, host, port } = location;
    const isLocal = /(?:^|\.)localhost$|^127\.|^\[::1\]$/.test(hostname);
    const restart = `Start it again: svc emulator start${port && ` --port ${port}`}`;
    return new CallError(0, "The emulator does not respond.", isLocal ? restart : `Check the connection to ${host}.`);
  };
}

/** The emulator itself did not respond. */
export class ProxyError extends CallError {}

/**
 * The session is in the storage of this origin: unlike a cookie, it is not sent to other ports, and the page decides
 * when to send it. All tabs share it, and it ends with the emulator. It is only valid together with a cookie that
 * scripts cannot read.
 */
const storageKey = "svc-session";
const roleStorageKey = "svc-session-role";

/** The session token; undefined if no user is signed in. */
export const session = signal<string | undefined>(undefined);
export const signInError = signal<CallError | undefined>(undefined);

/** Role of the token that signed this browser in. Undefined if it is unknown; then the page hides nothing. */
export const role = signal<string | undefined>(undefined);

/** Whether the control plane shows keys and links to this session. */
export const canReadSecrets = computed(() => role.value !== "read");

export const getSessionHeaders = (): Record<string, string> =>
  session.value === undefined ? {} : { authorization: `Bearer ${session.value}` };

/**
 * Forgets a session that the emulator does not recognize, because another emulator now runs at this address. Does
 * nothing if a tab has signed in since the request with this token.
 */
export function forgetSession(sentToken: string | undefined): void {
  if (session.value !== sentToken) return;
  localStorage.removeItem(storageKey);
  localStorage.removeItem(roleStorageKey);
  session.value = undefined;
}

/**
 * Restores the session of an earlier page or another tab, and accepts every code that `svc emulator open` puts into the
 * address.
 */
export async function signIn(): Promise<void> {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === storageKey) applySession(newValue);
  });
  addEventListener("hashchange", () => void exchangeCode());
  try {
    applySession(localStorage.getItem(storageKey));
    await exchangeCode();
  } catch {
    // Browsers that block cookies also block access to the storage.
    const hint = "Allow them for this address, then run the command again.";
    signInError.value = new CallError(403, "The browser blocks cookies and site data.", hint);
  }
}

/** Exchanges the code in the URL fragment for a session, and removes it from the address and the history. */
async function exchangeCode(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname);
  try {
    const { token, role: given } = await callOperation("sessions.begin", { body: { code } });
    signInError.value = undefined;
    // Other tabs read the role when they get the storage event.
    localStorage.setItem(roleStorageKey, given);
    localStorage.setItem(storageKey, token);
    applySession(token);
  } catch (error) {
    signInError.value = error as CallError;
  }
}

function applySession(token: string | null): void {
  role.value = localStorage.getItem(roleStorageKey) ?? undefined;
  session.value = token ?? undefined;
}

/**
 * `lost` means that a connection failed or was not opened in time, `polling` that the emulator responds, but its stream
 * of events does not arrive.
 */
export type Connection = "connecting" | "live" | "reconnecting" | "polling" | "lost";

/** Whether the view follows the emulator. */
export const connection = signal<Connection>("connecting");

/**
 * Counts requests that failed without a connection, because a stream can stay open although no events arrive.
 */
export const failedCallCount = signal(0);

type InputArguments<Id extends OperationId> =
  Record<never, never> extends OperationInput<Id> ? [input?: OperationInput<Id>] : [input: OperationInput<Id>];

/** Calls an operation of the control plane. Throws a CallError unless it succeeds. */
export async function callOperation<Id extends OperationId>(
  id: Id,
  ...[input]: InputArguments<Id>
): Promise<OperationResult<Id>> {
  const { method, path } = getOutline(id);
  const { params, query, body } = (input ?? {}) as UntypedInput;
  // The page is served next to the control plane, also behind a proxy with a path prefix.
  const url = path.replace("/_emulator/", "../");
  const target = fillTemplate(url, toFields(params) as Record<string, string | number>) + formatQuery(toFields(query));
  const sentToken = session.value;
  const failUnreachable = (): never => {
    failedCallCount.value += 1;
    throw CallError.createUnreachable();
  };
  const response = await fetch(target, {
    method,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...getSessionHeaders(),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "error",
  }).catch(failUnreachable);
  const answer = tryParseJson(await response.text().catch(failUnreachable));
  // A proxy responds with a page for an emulator that does not respond, or not in time.
  if (response.status >= 502 && answer === undefined) {
    // Whether a change took effect is unknown. Another check after a read would only repeat the read.
    if (method !== "GET") failUnreachable();
    throw new ProxyError(response.status, `A proxy responded with status ${response.status} instead of the emulator.`);
  }
  if (response.status === 401) forgetSession(sentToken);
  if (!response.ok) throw CallError.fromResponse(response.status, answer);
  return answer as OperationResult<Id>;
}

/** Explains why the signed-in user may not call an operation. Returns undefined if they may. */
export function explainDenied(id: OperationId): string | undefined {
  const { allowed } = getOutline(id);
  if (role.value === undefined || allowed === undefined) return undefined;
  if (allowed.some((each) => each === role.value)) return undefined;
  return `This requires a token with the role ${allowed[0]}. Your token has the role ${role.value}.`;
}
