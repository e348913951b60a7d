import { UsageError } from "../../failure.ts";

interface Options {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** From some row on the input cannot be gone on with. Whoever knows what was done before it says so. */
export class InputError extends UsageError {
  readonly code: string;

  constructor(code: string, message: string, options: Options = {}) {
    super(message, options);
    this.code = code;
  }
}

/** The input cannot be read. */
export const createUnreadableInputError = (message: string, options: Options = {}): InputError =>
  new InputError("unreadable_input", message, options);
