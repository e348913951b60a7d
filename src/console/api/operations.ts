import type { ArgumentsOf, ResultOf } from "../../api/operation.ts";
import type { IdsOf, OperationById } from "../../api/registry.ts";
import { toFields } from "../../base/object.ts";
import { quoteShellWord } from "../../base/text.ts";
import type { ConsoleOperation } from "../../derive/specs.ts";

/** The operations of the control plane. */
export type OperationId = IdsOf<"emulator">;
export type OperationInput<Id extends OperationId> = ArgumentsOf<OperationById<Id>>;
export type OperationResult<Id extends OperationId> = ResultOf<OperationById<Id>>;

/** Arguments of an operation that is only known at run time. */
export interface UntypedInput {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

/** The build's data about each operation. */
declare const SVC_CONSOLE_OPERATIONS: Readonly<Record<OperationId, ConsoleOperation>>;

export const getOutline = (id: OperationId): ConsoleOperation => SVC_CONSOLE_OPERATIONS[id];

/**
 * Formats the command that is equivalent to a request, in POSIX shell syntax: `svc emulator clock advance --by PT5M`.
 */
export function formatApiCommand(outline: ConsoleOperation, input: UntypedInput = {}): string {
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
