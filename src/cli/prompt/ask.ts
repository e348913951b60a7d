import type { Key } from "node:readline";
import { Writable } from "node:stream";
import { checkbox, confirm, input, password, search, select } from "@inquirer/prompts";
import { runOnNextTurn } from "../../base/timing.ts";
import { escapeControlCharacters } from "../output/control-characters.ts";
import { withNonZeroWidth } from "../output/line-wrapping.ts";
import { hasColour } from "../output/styled.ts";
import { InterruptedError } from "../process/failure.ts";
import type { Host, InputStream, OutputStream } from "../process/host.ts";

export interface PromptChoice<T = string> {
  readonly value: T;
  readonly name: string;
  readonly description?: string | undefined;
}

/** Validates typed text. Returns true or an error message. */
export type PromptValidator = (text: string) => true | string;

/** Longer lists are searched instead of scrolled. */
const maxScrolledChoices = 12;

/** Prompts are redrawn at each key and can contain text from services. */
const maxShownLength = 1_000;

const formatShown = (text: string): string =>
  text.length > maxShownLength
    ? `${escapeControlCharacters(text.slice(0, maxShownLength))}…`
    : escapeControlCharacters(text);

const identity = (text: string) => text;
const plainStyle = {
  answer: identity,
  message: identity,
  error: (text: string) => `> ${text}`,
  defaultAnswer: (text: string) => `(${text})`,
  help: identity,
  highlight: identity,
  key: (text: string) => `<${text}>`,
  description: identity,
  disabled: identity,
  searchTerm: identity,
  keysHelpTip: (keys: [string, string][]) => keys.map(([key, action]) => `${key} ${action}`).join(", "),
};

/** The library would decide about colors by standard output. Prompts are on standard error with svc's own rule. */
const createTheme = ({ stderr, env }: Host) =>
  hasColour(stderr, undefined, env) ? {} : { theme: { prefix: { idle: "?", done: ">" }, style: plainStyle } };

/** The library ends its output after each prompt, unless it is the process's own stream. */
function createPersistentStream(stream: OutputStream): Writable {
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (stream.write(chunk)) done();
      else stream.once("drain", done);
    },
  });
  return Object.defineProperty(output, "columns", { get: () => withNonZeroWidth(stream).columns });
}

type Streams = { readonly input: InputStream; readonly output: Writable; readonly signal: AbortSignal };

/**
 * Shows a prompt on standard error. Ctrl-C, Ctrl-D and a closed terminal interrupt the run.
 *
 * The library reports only Ctrl-C. In the other cases, it closes its reader, which pauses the input, and never settles
 * its promise. After Ctrl-Z and `fg`, it also leaves the input paused, so no key would be read.
 */
async function awaitAnswer<T>(
  ask: (promptContext: Streams) => Promise<T>,
  { stdin, stderr }: Host,
  signal: AbortSignal,
): Promise<T> {
  if (stdin.readableEnded) throw new InterruptedError();
  const ended = new AbortController();
  const end = () => ended.abort();
  const onKey = (_text: string | undefined, key: Key) => {
    if (key.ctrl && key.name === "d" && stdin.isPaused()) end();
  };
  let isAsking = true;
  const onPause = () => void runOnNextTurn(() => isAsking && !ended.signal.aborted && stdin.resume());
  try {
    const question = ask({
      input: stdin,
      output: createPersistentStream(stderr),
      signal: AbortSignal.any([signal, ended.signal]),
    });
    // This listener runs after that of the library, which has already closed its reader.
    stdin.on("keypress", onKey).on("pause", onPause).once("end", end);
    return await question;
  } catch (error) {
    if (ended.signal.aborted || (error as Error).name === "ExitPromptError") throw new InterruptedError();
    throw error;
  } finally {
    isAsking = false;
    stdin.off("keypress", onKey).off("pause", onPause).off("end", end).pause();
  }
}

/** Prompts y/N on standard error (default: no). Callers of all prompts check first that prompts are allowed. */
export const askYesNo = (message: string, host: Host, signal: AbortSignal): Promise<boolean> =>
  awaitAnswer(
    (promptContext) => confirm({ message: formatShown(message), default: false, ...createTheme(host) }, promptContext),
    host,
    signal,
  );

export const askText = (
  message: string,
  host: Host,
  signal: AbortSignal,
  check: PromptValidator = () => true,
): Promise<string> =>
  awaitAnswer(
    (promptContext) =>
      input({ message: formatShown(message), validate: createValidator(check), ...createTheme(host) }, promptContext),
    host,
    signal,
  );

export const askSecret = (message: string, host: Host, signal: AbortSignal): Promise<string> =>
  awaitAnswer(
    (promptContext) => password({ message: formatShown(message), mask: false, ...createTheme(host) }, promptContext),
    host,
    signal,
  );

export function askChoice<T>(
  message: string,
  choices: readonly PromptChoice<T>[],
  host: Host,
  signal: AbortSignal,
): Promise<T> {
  const offered = choices.map(toInquirerChoice);
  const question = { message: formatShown(message), ...createTheme(host) };
  if (offered.length <= maxScrolledChoices) {
    return awaitAnswer((promptContext) => select<T>({ ...question, choices: offered }, promptContext), host, signal);
  }
  const filterChoices = (term: string | undefined) =>
    offered.filter(({ name }) => name.toLowerCase().includes((term ?? "").toLowerCase()));
  return awaitAnswer((promptContext) => search<T>({ ...question, source: filterChoices }, promptContext), host, signal);
}

/** Prompts for any number of options, or for at least one with `isNeeded`. */
export const askSeveral = <T>(
  message: string,
  choices: readonly PromptChoice<T>[],
  isNeeded: boolean,
  host: Host,
  signal: AbortSignal,
): Promise<T[]> =>
  awaitAnswer(
    (promptContext) =>
      checkbox<T>(
        {
          message: formatShown(message),
          choices: choices.map(toInquirerChoice),
          required: isNeeded,
          ...createTheme(host),
        },
        promptContext,
      ),
    host,
    signal,
  );

const createValidator =
  (check: PromptValidator) =>
  (text: string): true | string => {
    const verdict = check(text);
    return verdict === true || formatShown(verdict);
  };

/** Names come from services and must not move the cursor. */
const toInquirerChoice = <T>({ value, name, description }: PromptChoice<T>) => ({
  value,
  name: formatShown(name),
  ...(description === undefined ? {} : { description: formatShown(description) }),
});
