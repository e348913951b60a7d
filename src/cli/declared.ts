import type { CommandSpec } from "../derive/command-spec.ts";
import type { WrittenDeclaration } from "./command.ts";

/** A command of the tree, as plain data; `spec` is the derived one that a hand-written one builds on. */
export type Declared = (WrittenDeclaration & { readonly spec?: CommandSpec | undefined }) | CommandSpec;

/** A command of a group: its declaration is read when it is asked for. */
export interface Listed {
  readonly words: readonly string[];
  declaration(): Declared;
}
