import { computed, signal } from "@preact/signals";
import { toFields } from "../../base/object.ts";
import type { OperationOutline, UntypedInput } from "./operations.ts";
import { CallError } from "./problem.ts";

/**
 * Whose session it is, in the storage of this origin: unlike a cookie it is sent to no other port, and only where the
 * page means to. All tabs have it; it ends with the emulator. It counts only with a cookie, which no script can read.
 */
const place = "svc-session";
const rolePlace = "svc-session-role";

/** Nothing: no user is signed in; then the reason, if it is known. */
export const session = signal<string | undefined>(undefined);
export const signInError = signal<CallError | undefined>(undefined);

/** Permissions of the token that signed this browser in; undefined: unknown, and nothing is hidden. */
export const role = signal<string | undefined>(undefined);

/** Whether the control plane shows it keys and links. */
export const canReadSecrets = computed(() => role.value !== "read");

export const getSessionHeaders = (): Record<string, string> =>
  session.value === undefined ? {} : { authorization: `Bearer ${session.value}` };

/** Called where the emulator does not know the session any more: another one runs there now. */
export function forgetSession(): void {
  localStorage.removeItem(place);
  localStorage.removeItem(rolePlace);
  session.value = undefined;
}

/** Takes the session of before or of another tab, and every code that `svc emulator open` puts into the address. */
export async function signIn(): Promise<void> {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === place && newValue !== null) applySession(newValue);
  });
  addEventListener("hashchange", () => void exchangeCode());
  applySession(localStorage.getItem(place));
  await exchangeCode();
}

/** Exchanges the code in the fragment for a session, and takes it out of the address and the history. */
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
  // Other tabs read it once they are told of the token.
  localStorage.setItem(rolePlace, String(given));
  localStorage.setItem(place, String(token));
  applySession(String(token));
}

function applySession(token: string | null): void {
  role.value = localStorage.getItem(rolePlace) ?? undefined;
  session.value = token ?? undefined;
}

/** The command that does the same as a call, as a POSIX shell reads it: `svc emulator clock advance --by PT5M`. */
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

/** A word for a shell: in single quotes where it holds anything that a shell would read. */
export const quoteShellWord = (word: string): string =>
  /^[\w/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
