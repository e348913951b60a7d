import { effect, signal, untracked } from "@preact/signals";
import { call } from "../api/call.ts";
import { commandLine } from "../api/command-line.ts";
import { type Answer, type AnyInput, type Input, type OperationId, outlineOf } from "../api/operations.ts";
import { Problem } from "../api/problem.ts";
import { connection } from "../live/connection.ts";
import { readAll } from "./read-all.ts";
import { touchAll } from "./topics.ts";

/** What was done last, with the command that does the same, and what came of it. */
export interface Performed {
  readonly command?: string | undefined;
  readonly state: "running" | "done" | "failed";
  readonly outcome?: Outcome | undefined;
  readonly problem?: Problem | undefined;
}

/** What came of a call that was answered: where that is bad news, its tone says so. */
export type Outcome = string | { readonly tone: "good" | "warn" | "bad"; readonly words: string };

export const lastAction = signal<Performed | undefined>(undefined);

export const commandOf = <Id extends OperationId>(id: Id, input?: Input<Id>): string =>
  commandLine(outlineOf(id), input as AnyInput | undefined);

/** That nothing answered is no news any more once something does; whether it was done all the same, nobody has said. */
effect(() => {
  if (connection.value !== "live") return;
  if (!untracked(() => lastAction.value?.problem?.isUnreachable)) return;
  const words = "The emulator answers again. What was pressed last may not have been done";
  lastAction.value = { state: "done", outcome: { tone: "warn", words } };
});

/** Does what a person asked for; undefined where it failed, which the foot of the page says. */
export async function act<Id extends OperationId>(
  id: Id,
  input: Input<Id>,
  message?: (answer: Answer<Id>) => Outcome,
  command = commandOf(id, input),
): Promise<{ readonly answer: Answer<Id> } | undefined> {
  lastAction.value = { command, state: "running" };
  try {
    const answer = await (call as (id: Id, input: Input<Id>) => Promise<Answer<Id>>)(id, input);
    lastAction.value = { command, state: "done", outcome: message?.(answer) };
    return { answer };
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem(0, "page_bug", String(error));
    lastAction.value = { command, state: "failed", problem };
    return undefined;
  } finally {
    // Events tell what came of it, unless there are none now.
    if (connection.value !== "live") readAll();
    else touchAll();
  }
}
