import { computed, signal } from "@preact/signals";
import { toFields } from "../../base/object.ts";
import type { OperationOutline, UntypedInput } from "./operations.ts";
import { CallError } from "./problem.ts";

/**
 * The session, in the storage of this origin: unlike a cookie, it is not sent to other ports, and only sent when the
 * page chooses. All tabs share it, and it ends with the emulator. It is only valid with a cookie that scripts cannot
 * read.
 */
const place = "svc-session";
const rolePlace = "svc-session-role";

/** Undefined: no user is signed in, for the given reason if it is known. */
export const session = signal<string | undefined>(undefined);
export const signInError = signal<CallError | undefined>(undefined);

/** Permissions of the token that signed this browser in; undefined: unknown, and nothing is hidden. */
export const role = signal<string | undefined>(undefined);

/** Whether the control plane shows keys and links to this session. */
export const canReadSecrets = computed(() => role.value !== "read");

export const getSessionHeaders = (): Record<string, string> =>
  session.value === undefined ? {} : { authorization: `Bearer ${session.value}` };

/** Called if the emulator does not know the session any more, because another one runs there now. */
export function forgetSession(): void {
  localStorage.removeItem(place);
  localStorage.removeItem(rolePlace);
  session.value = undefined;
}

/**
 * Restores the session of an earlier page or another tab, and accepts every code that `svc emulator open` puts into the
 * address.
 */
export async function signIn(): Promise<void> {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === place && newValue !== null) applySession(newValue);
  });
  addEventListener("hashchange", () => void exchangeCode());
  applySession(localStorage.getItem(place));
  await exchangeCode();
}

/** Exchanges the code in the fragment for a session, and removes it from the address and the history. */
async function exchangeCode(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("../sessions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const body: unknown = await answer.json();
  if (!answer.ok) {
    signInError.value = CallError.fromResponse(answer.status, body);
    return;
  }
  signInError.value = undefined;
  const { token, role: given } = toFields(body);
  // Other tabs read it when they get the storage event.
  localStorage.setItem(rolePlace, String(given));
  localStorage.setItem(place, String(token));
  applySession(String(token));
}

function applySession(token: string | null): void {
  role.value = localStorage.getItem(rolePlace) ?? undefined;
  session.value = token ?? undefined;
}

/** The command that is equivalent to a call, in POSIX shell syntax: `svc emulator clock advance --by PT5M`. */
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

/** A word for a shell, in single quotes if it contains special characters. */
export const quoteShellWord = (word: string): string =>
  /^[\w/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
