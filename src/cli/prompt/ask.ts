import type { Key } from "node:readline";
import { Writable } from "node:stream";
import { checkbox, confirm, input, password, search, select } from "@inquirer/prompts";
import { runOnNextTurn } from "../../base/timing.ts";
import type { Context } from "../command.ts";
import { escapeControlCharacters } from "../output/control-characters.ts";
import { hasColour, withNonZeroWidth } from "../output/styled.ts";
import { InterruptedError } from "../process/failure.ts";
import type { Host, OutputStream } from "../process/host.ts";

export type PromptChoice<T = string> = { readonly value: T; readonly name: string };

/** Validates typed text. Returns true or an error message. */
export type PromptValidator = (text: string) => true | string;

/** Longer lists are searched instead of scrolled. */
const maxScrolledChoices = 12;

/** Prompts are redrawn at each key and can contain text from services. */
const maxShownLength = 1_000;

const formatShown = (text: string): string =>
  escapeControlCharacters(text.slice(0, maxShownLength)) + (text.length > maxShownLength ? "…" : "");

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
    write(chunk, _encoding, callback) {
      if (stream.write(chunk)) callback();
      else stream.once("drain", callback);
    },
  });
  return Object.defineProperty(output, "columns", { get: () => withNonZeroWidth(stream).columns });
}

type PromptContext = Pick<Context, "host" | "signal">;
type Question = { readonly message: string } & ReturnType<typeof createTheme>;

/**
 * Shows a prompt on standard error. Ctrl-C, Ctrl-D and a closed terminal interrupt the run. Callers check first that
 * prompts are allowed.
 *
 * The library reports only Ctrl-C. In the other cases, it closes its reader, which pauses the input, and never settles
 * its promise. After Ctrl-Z and `fg`, it also leaves the input paused, so no key would be read.
 */
async function runPrompt<T>(
  message: string,
  { host, signal }: PromptContext,
  prompt: (question: Question, streams: Parameters<typeof confirm>[1]) => Promise<T>,
): Promise<T> {
  const { stdin, stderr } = host;
  if (stdin.readableEnded) throw new InterruptedError();
  const keyListening = new AbortController();
  const end = () => keyListening.abort();
  const onKey = (_text: string | undefined, key: Key) => {
    if (key.ctrl && key.name === "d" && stdin.isPaused()) end();
  };
  let isAsking = true;
  const onPause = () => void runOnNextTurn(() => isAsking && !keyListening.signal.aborted && stdin.resume());
  try {
    const result = prompt(
      { message: formatShown(message), ...createTheme(host) },
      { input: stdin, output: createPersistentStream(stderr), signal: AbortSignal.any([signal, keyListening.signal]) },
    );
    // This listener runs after that of the library, which has already closed its reader.
    stdin.on("keypress", onKey).on("pause", onPause).once("end", end);
    return await result;
  } catch (error) {
    if (keyListening.signal.aborted || (error as Error).name === "ExitPromptError") throw new InterruptedError();
    throw error;
  } finally {
    isAsking = false;
    stdin.off("keypress", onKey).off("pause", onPause).off("end", end).pause();
  }
}

export const askYesNo = (message: string, context: PromptContext): Promise<boolean> =>
  runPrompt(message, context, (question, streams) => confirm({ ...question, default: false }, streams));

export function askText(message: string, context: PromptContext, check: PromptValidator = () => true): Promise<string> {
  const validate = (text: string) => {
    const verdict = check(text);
    return verdict === true || formatShown(verdict);
  };
  return runPrompt(message, context, (question, streams) => input({ ...question, validate }, streams));
}

export const askSecret = (message: string, context: PromptContext): Promise<string> =>
  runPrompt(message, context, (question, streams) => password({ ...question, mask: false }, streams));

export function askChoice<T>(message: string, all: readonly PromptChoice<T>[], context: PromptContext): Promise<T> {
  const choices = all.map(toInquirerChoice);
  if (choices.length <= maxScrolledChoices)
    return runPrompt(message, context, (question, streams) => select<T>({ ...question, choices }, streams));
  const source = (term = "") => choices.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()));
  return runPrompt(message, context, (question, streams) => search<T>({ ...question, source }, streams));
}

/** Prompts for any number of options, or for at least one if the value is required. */
export const askSeveral = <T>(
  message: string,
  all: readonly PromptChoice<T>[],
  required: boolean,
  context: PromptContext,
): Promise<T[]> =>
  runPrompt(message, context, (question, streams) =>
    checkbox<T>({ ...question, choices: all.map(toInquirerChoice), required }, streams),
  );

/** Names come from services and must not move the cursor. */
const toInquirerChoice = <T>({ value, name }: PromptChoice<T>) => ({ value, name: formatShown(name) });
