import type { Context } from "../command.ts";
import type { GlobalOptions } from "../parse/globals.ts";
import { isSwitchedOn } from "../process/environment.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";

/**
 * Prompts y/N before a repairable change. Scripts pass --yes. The action has its verb first and no full stop: "Void a
 * contract (composite id T-1)".
 */
export async function confirmYes(action: string, context: Context): Promise<void> {
  if (!(await context.confirm(`${action}?`, "--yes"))) throw createDeclinedError();
}

/** An irreversible change requires its name, in scripts by --confirm. --yes is not enough (DECISIONS.md, L8). */
export async function confirmName(action: string, name: string, confirmedName: string | undefined, context: Context) {
  if (confirmedName === name) return;
  if (confirmedName !== undefined) throw new UsageError(`--confirm must be ${name}, got "${confirmedName}"`);
  if (!canPrompt(context.host, context.globals)) {
    throw new UsageError(`--confirm ${name} is required, because this cannot be undone`, {
      hint: `The command would do this: ${action}.`,
    });
  }
  const { askText } = await import("./ask.ts");
  const input = await askText(`${action}: this cannot be undone. Type ${name} to continue:`, context);
  if (input.trim() !== name) throw createDeclinedError();
}

const createDeclinedError = (): CommandFailedError =>
  new CommandFailedError("failed", "declined", "Nothing was changed.");

/** Reports whether prompts are allowed: both ends are a terminal, and no flag forbids prompts (DECISIONS.md, L6). */
export const canPrompt = ({ stdin, stderr, env }: Host, { noInput }: GlobalOptions): boolean =>
  stdin.isTTY === true && stderr.isTTY === true && !isSwitchedOn(env.CI) && !isSwitchedOn(env.SVC_NO_INPUT) && !noInput;
