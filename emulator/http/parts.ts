import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Authenticate, Authenticators, Call } from "./handler.ts";

/** A handler whose exact input and caller were checked where it was written, and are not known here. */
export type AnyHandler = (input: never, context: never) => unknown;

/** Operations that one listener serves, with what they need. A listener may carry several parts. */
export interface Part {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, AnyHandler>>;
  readonly world: object;
  readonly authenticate: Authenticators<object>;
}

/** Any handler that gets along with this world; its input and its caller were checked where it was written. */
export type HandlerIn<W extends object> = (input: never, context: W & Call<FailureCode, never>) => unknown;

interface PartSpec<W extends object> {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, HandlerIn<W>>>;
  /** What each call is given stands before it: handlers ask it by name, and never copy it. */
  readonly world: W;
  readonly authenticate?: Readonly<Partial<Record<Operation["auth"], Authenticate<W>>>>;
}

/** Puts a part together: a world that lacks what one of the handlers needs does not compile. */
export const part = <W extends object>({ authenticate = {}, ...rest }: PartSpec<W>): Part =>
  ({ ...rest, authenticate }) as Part;
