import type { Context, Input } from "../../command.ts";
import { mayAsk } from "../../context.ts";
import { CommandFailed, UsageError } from "../../failure.ts";

/** Up to so many removals need a yes; more need the name of the cluster (cli-conventions.md, 19). */
const manyRows = 10_000;

/** Asks before rows are removed. Of a pipe nobody knows how many there are: it counts as many. */
export async function confirmRemoval(
  of: { readonly what: string; readonly cluster: string; readonly rows: number | undefined },
  input: Input,
  context: Context,
): Promise<void> {
  const { what, cluster, rows } = of;
  const isMany = rows === undefined || rows > manyRows;
  const given = input.flags.confirm as string | undefined;
  if (isMany || given !== undefined) return confirmName(what, cluster, given, context);
  if (!(await context.confirm(`Remove ${what} from ${cluster}?`, "--yes"))) throw declined();
}

/** What cannot be undone: its name is typed, or repeated in --confirm; --yes is not enough. */
export async function confirmName(
  what: string,
  name: string,
  given: string | undefined,
  { host, globals, signal }: Context,
): Promise<void> {
  if (given === name) return;
  if (given !== undefined) throw new UsageError(`--confirm must repeat ${name}, not "${given}"`);
  if (!mayAsk(host, globals)) {
    throw new UsageError(`--confirm ${name} required: this cannot be undone`, { hint: `It would remove ${what}.` });
  }
  const { askText } = await import("../../terminal/ask.ts");
  const typed = await askText(`This removes ${what} and cannot be undone. Type ${name} to go on:`, host, signal);
  if (typed.trim() !== name) throw declined();
}

const declined = (): CommandFailed => new CommandFailed("failed", "declined", "Nothing was changed.");
