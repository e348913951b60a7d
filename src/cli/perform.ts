import { ServiceError } from "../client/errors.ts";
import type { CommandDeclaration } from "../derive/command-spec.ts";
import type { Command, Context, Input } from "./command.ts";
import { type Declared, declarationsOf } from "./command-tree.ts";
import { createContext } from "./context.ts";
import { runDerived } from "./derived.ts";
import { exitCodeOf } from "./exit.ts";
import { InputRequired, Interrupted, PartialFailure } from "./failure.ts";
import type { Host } from "./host.ts";
import { createOutput } from "./output/output.ts";
import { readGlobals } from "./parse/globals.ts";
import type { Invocation } from "./parse/parser.ts";
import { positionalValue } from "./parse/values.ts";
import { completed, supplemented } from "./prompt/required.ts";
import type { Stopping } from "./stopping.ts";

/** Runs the command that a line means, with what a person is asked for. `svc` runs another one within it. */
export async function perform(
  { declaration, input, globals: given }: Invocation<Declared>,
  argv: readonly string[],
  host: Host,
  stopping: Stopping,
  svc: Context["svc"],
): Promise<number> {
  const globals = readGlobals(given);
  const output = createOutput(host, globals);
  const context = createContext(host, argv, globals, output, stopping, svc);
  try {
    const result = await carriedOut(declaration, await completed(declaration, input, context), context);
    if (result === undefined) return 0;
    return typeof result === "string" ? exitCodeOf[result] : result.exit;
  } catch (error) {
    if (error instanceof Interrupted && !stopping.name) stopping.interrupt("SIGINT");
    throw error;
  } finally {
    await context.close();
  }
}

/** Runs the command, anew whenever it was asked for something that it turned out to need. */
async function carriedOut(declaration: Declared, input: Input, context: Context): ReturnType<Command["run"]> {
  for (let given = input; ; ) {
    const whole = typed(declaration, given);
    try {
      if ("run" in declaration) return await declaration.run(whole, context, declaration.spec);
      return await runDerived(declaration, whole, context);
    } catch (error) {
      if (!(error instanceof InputRequired)) throw await withList(error, declaration);
      given = await supplemented(declaration, given, error, context);
    }
  }
}

/** What is not there is said to be missing by its service; the list beside the command says what there is. */
async function withList(error: unknown, { words }: Declared): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.status !== 404 || error.problem.hint !== undefined) return error;
  const list = [...words.slice(0, -1), "list"];
  const known = await declarationsOf(words[0]!);
  const isThere = known.some((one) => one.words.join(" ") === list.join(" "));
  return isThere && words.at(-1) !== "list" ? new PartialFailure(error, [], { next: list }) : error;
}

function typed({ positionals: declared }: CommandDeclaration, input: Input): Input {
  const positionals = Object.fromEntries(
    declared.map(({ name, type = "text", choices }) => {
      const given = input.positionals[name];
      return [name, typeof given === "string" ? positionalValue(name, given, type, choices) : given];
    }),
  );
  return { ...input, positionals: positionals as Input["positionals"] };
}
