import type { CapturedRun, Context } from "../command.ts";
import { explainError, explanationJson, withoutSecrets } from "../exit.ts";
import { hideSecrets, secretsIn } from "./hidden.ts";
import type { ListedCommand } from "./operations.ts";

/** What a tool answers: the text that the command line prints, without secrets. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

/** Runs command lines for tools: at the services of the server's own command line, with --json, one after the other. */
export class Runner {
  readonly #context: Context;
  #last: Promise<unknown> = Promise.resolve();
  #commands: Promise<readonly ListedCommand[]> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Every command, as `svc help --json` lists it. */
  commands(): Promise<readonly ListedCommand[]> {
    this.#commands ??= this.#context.svc(["help", "--json"]).then(({ out }) => JSON.parse(out).commands);
    return this.#commands;
  }

  /** What the command line prints on standard output; where it prints nothing, its error. */
  async run(argv: readonly string[], stdin?: string): Promise<Answer> {
    const { host, globals, svc } = this.#context;
    const { profile, baseUrl, emulator } = globals;
    const service = [
      ...(profile === undefined ? [] : [`--profile=${profile}`]),
      ...(baseUrl === undefined ? [] : [`--base-url=${baseUrl}`]),
      ...(emulator ? ["--emulator"] : []),
    ];
    const line = [...argv, "--json", "--quiet", "--no-input", ...service];
    // In their order: of two that change something, the second may build on the first.
    const ran = this.#last.then(() => svc(line, stdin === undefined ? {} : { stdin }));
    this.#last = ran.catch(() => {});
    return answerOf(await ran, secretsIn(host.env));
  }

  /** Resolves once no command line runs. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

function answerOf({ exit, out, err }: CapturedRun, secrets: readonly string[]): Answer {
  if (out.trim() !== "" || exit === 0) return { text: hideSecrets(out, secrets), isError: false };
  // Warnings may stand before it.
  const error = err.slice(Math.max(0, err.lastIndexOf('{"error":')));
  return { text: hideSecrets(error, secrets), isError: true };
}

/** What the command line would print about it. */
export const errorAnswer = (error: unknown): Answer => ({
  text: `${JSON.stringify(explanationJson(withoutSecrets(explainError(error))))}\n`,
  isError: true,
});

export const dataAnswer = (value: unknown): Answer => ({ text: `${JSON.stringify(value, null, 2)}\n`, isError: false });
