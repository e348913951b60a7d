interface UsageOptions {
  readonly hint?: string | undefined;
  readonly next?: readonly string[];
  readonly details?: readonly string[];
  readonly cause?: unknown;
}

/** The command line was wrong; nothing was sent. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;
  readonly next: readonly string[] | undefined;
  /** One item a line, below the message. */
  readonly details: readonly string[];

  constructor(message: string, options: UsageOptions = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.next = options.next;
    this.details = options.details ?? [];
  }

  /** The same, with where to read on; one that says already what to do stays as it is. */
  withHint(hint: string): UsageError {
    if (this.hint !== undefined || this.next !== undefined) return this;
    const same = new UsageError(this.message, { hint, details: this.details, cause: this.cause });
    same.stack = this.stack ?? "";
    return same;
  }
}

/** The error of one missing flag, argument or field of the body, or of several. */
export const createMissingFieldsError = (fields: readonly string[], options: UsageOptions): UsageError =>
  fields.length === 1
    ? new UsageError(`${fields[0]!.replace(/^(\S+)/, "$1 is required")}`, options)
    : new UsageError("Missing required fields:", { ...options, details: fields });

/**
 * A flag or positional is missing that only this command line makes necessary. Thrown before anything is done: a person
 * at a terminal is asked for it, and the command begins again; for anyone else it is the UsageError that it is.
 */
export class InputRequiredError extends UsageError {
  /** The name of the flag or positional in the declaration. */
  readonly input: string;

  constructor(input: string, message: string, options: ConstructorParameters<typeof UsageError>[1] = {}) {
    super(message, options);
    this.input = input;
  }
}

/** Exit code of a command that did its work. */
export type FailureKind = "failed" | "partial" | "not-found" | "forbidden" | "pending" | "temporary" | "usage";

/** A command failed: the error, and the next step. */
export class CommandFailedError extends Error {
  override readonly name = "CommandFailedError";
  readonly kind: FailureKind;
  readonly code: string;
  readonly hint: string | undefined;
  /** A command line that helps, without `svc` and without secrets. */
  readonly next: readonly string[] | undefined;

  constructor(
    kind: FailureKind,
    code: string,
    message: string,
    options: { hint?: string | undefined; next?: readonly string[] | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.hint = options.hint;
    this.next = options.next;
  }
}

/**
 * The cause is the failure; but work had been done before, and must not go unreported. After an interruption, the cause
 * is of no interest.
 */
export class PartialFailureError extends Error {
  override readonly name = "PartialFailureError";
  /** Sentences. */
  readonly done: readonly string[];
  readonly hint: string | undefined;
  readonly next: readonly string[] | undefined;
  /** Repeating the completed work changes nothing. */
  readonly repeatable: boolean;

  constructor(
    cause: unknown,
    done: readonly string[],
    options: { hint?: string | undefined; next?: readonly string[] | undefined; repeatable?: boolean } = {},
  ) {
    super("The command did not finish.", { cause });
    this.done = done;
    this.repeatable = options.repeatable === true;
    this.hint = options.hint;
    this.next = options.next;
  }
}

/** Ctrl-C at a question, for which the terminal sends no signal. Exit code 130, without a message. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
