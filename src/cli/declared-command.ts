import type { CommandSpec } from "../derive/command-spec.ts";
import type { WrittenDeclaration } from "./command.ts";

/** A command of the tree, as plain data; `spec` is the derived one that a hand-written one builds on. */
export type DeclaredCommand = (WrittenDeclaration & { readonly spec?: CommandSpec | undefined }) | CommandSpec;

/** A command of a group: its declaration is read when it is asked for. */
export interface ListedCommand {
  readonly words: readonly string[];
  declaration(): DeclaredCommand;
}
