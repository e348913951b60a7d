import { lookupTable } from "../../base/object.ts";
import { type FsError, openFilesRemedies } from "../../files/disk.ts";

interface FailureOptions {
  readonly hint?: string | undefined;
  /** Suggested command line, without `svc` and without secrets. */
  readonly next?: readonly string[] | undefined;
  readonly cause?: unknown;
}

interface UsageOptions extends FailureOptions {
  readonly details?: readonly string[];
}

/** Error for an invalid command line. Nothing was sent. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;
  readonly next: readonly string[] | undefined;
  /** Details below the message, one per line. */
  readonly details: readonly string[];
  /** Whether the command has already annotated its lines for the CI server. */
  readonly isAnnotated: boolean = false;

  constructor(message: string, options: UsageOptions = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.next = options.next;
    this.details = options.details ?? [];
  }

  /** Returns the error with a hint to use help, unless it already has a hint. */
  withHint(hint: string): UsageError {
    if (this.hint !== undefined || this.next !== undefined) return this;
    const copy = new UsageError(this.message, { hint, details: this.details, cause: this.cause });
    copy.stack = this.stack ?? "";
    return copy;
  }
}

export const createMissingFieldsError = (fields: readonly string[]): UsageError =>
  fields.length === 1
    ? new UsageError(fields[0]!.replace(/^(\S+)/, "$1 is required"))
    : new UsageError("Missing required fields:", { details: fields });

/**
 * Error for a missing flag or positional that only this command line requires. It is thrown before any work. At a
 * terminal, the user is prompted for the value and the command restarts. Otherwise, it is a UsageError.
 */
export class InputRequiredError extends UsageError {
  /** Declared name of the flag or positional, or of the flags of which one is required. */
  readonly input: string | readonly string[];

  constructor(input: string | readonly string[], message: string, options: UsageOptions = {}) {
    super(message, options);
    this.input = input;
  }
}

/** Reason of a failure, which determines the exit code. */
export type FailureKind = "failed" | "partial" | "not-found" | "forbidden" | "pending" | "temporary" | "usage";

/** Error of a failed command, with the next step. */
export class CommandFailedError extends Error {
  override readonly name = "CommandFailedError";
  readonly kind: FailureKind;
  readonly code: string;
  readonly hint: string | undefined;
  readonly next: readonly string[] | undefined;

  constructor(kind: FailureKind, code: string, message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.hint = options.hint;
    this.next = options.next;
  }
}

/** Error after partial work. `cause` is the failure. After an interruption, there is no cause. */
export class PartialFailureError extends Error {
  override readonly name = "PartialFailureError";
  readonly completedSteps: readonly string[];
  readonly hint: string | undefined;
  readonly next: readonly string[] | undefined;
  /** Whether repeating the completed work changes nothing. */
  readonly repeatable: boolean;

  constructor(
    cause: unknown,
    completedSteps: readonly string[],
    options: Omit<FailureOptions, "cause"> & { readonly repeatable?: boolean } = {},
  ) {
    super("The command did not finish.", { cause });
    this.completedSteps = completedSteps;
    this.repeatable = options.repeatable === true;
    this.hint = options.hint;
    this.next = options.next;
  }
}

/** Error for Ctrl-C at a prompt, for which the terminal sends no signal. Exit code 130, without a message. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}

const permissionHint = "Grant this user the permission, or choose another location.";
const diskFullHint = "Free some space, or choose a location on another disk.";

const remedies = lookupTable<string>({
  EACCES: permissionHint,
  EPERM: permissionHint,
  EROFS: "Choose a location on another disk.",
  ENOSPC: diskFullHint,
  EDQUOT: diskFullHint,
  EFBIG: "Choose a location on a disk that allows larger files.",
  EIO: "Check the disk, or choose a location on another disk.",
  ...openFilesRemedies,
  EISDIR: "Choose a file.",
  ENOENT: "Create it, or choose another location.",
});

/** Advice about an error of a file that the user chose. */
export const getRemedy = ({ code }: FsError): string => remedies[code] ?? "Choose another location.";
