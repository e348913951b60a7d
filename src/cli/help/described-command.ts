import type { CommandDeclaration, CommandSpec } from "../../derive/command-spec.ts";

/** A command as help, completion and the manifest see it; a hand-written one may extend that of an operation. */
export type DescribedCommand = CommandDeclaration & { readonly spec?: CommandSpec | undefined };

/** What is known of the operation behind a command, its own or the one that it extends; empty when there is none. */
export const underlyingOperationOf = (command: DescribedCommand): Partial<CommandSpec> => command.spec ?? command;
