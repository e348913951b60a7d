import { computed, signal } from "@preact/signals";
import { toFields } from "../../base/object.ts";
import type { OperationOutline, UntypedInput } from "./operations.ts";
import { CallError } from "./problem.ts";

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

/** Forgets a session that the emulator does not recognize, because another emulator now runs at this address. */
export function forgetSession(): void {
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
    if (key === storageKey && newValue !== null) applySession(newValue);
  });
  addEventListener("hashchange", () => void exchangeCode());
  applySession(localStorage.getItem(storageKey));
  await exchangeCode();
}

/** Exchanges the code in the URL fragment for a session, and removes it from the address and the history. */
async function exchangeCode(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname);
  const response = await fetch("../sessions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const body: unknown = await response.json();
  if (!response.ok) {
    signInError.value = CallError.fromResponse(response.status, body);
    return;
  }
  signInError.value = undefined;
  const { token, role: given } = toFields(body);
  // Other tabs read the role when they get the storage event.
  localStorage.setItem(roleStorageKey, String(given));
  localStorage.setItem(storageKey, String(token));
  applySession(String(token));
}

function applySession(token: string | null): void {
  role.value = localStorage.getItem(roleStorageKey) ?? undefined;
  session.value = token ?? undefined;
}

/**
 * Formats the command that is equivalent to a request, in POSIX shell syntax: `svc emulator clock advance --by PT5M`.
 */
export function formatApiCommand(outline: OperationOutline, input: UntypedInput = {}): string {
  const { command, positionals, flags, confirmed } = outline;
  const params = toFields(input.params);
  const words = positionals.map((name) => quoteShellWord(String(params[name] ?? "")));
  const given = (["query", "body"] as const).flatMap((place) =>
    Object.entries(toFields(input[place])).flatMap(([name, value]) =>
      value === undefined ? [] : toFlagWords(flags[`${place}.${name}`], name, value),
    ),
  );
  return ["svc", command, ...words, ...given, ...(confirmed ? ["--yes"] : [])].join(" ");
}

function toFlagWords(flag: string | undefined, name: string, value: unknown): string[] {
  if (flag === undefined) return ["--set", quoteShellWord(`${name}=${JSON.stringify(value)}`)];
  if (value === true) return [`--${flag}`];
  if (value === false) return [`--no-${flag}`];
  return [`--${flag}`, quoteShellWord(String(value))];
}

/** Quotes a word for a shell if it contains special characters. */
export const quoteShellWord = (word: string): string =>
  /^[\w/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
