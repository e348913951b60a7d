/** Something that only a mistake in the emulator itself can cause. Answers 500 and names the operation, when known. */
export class EmulatorBugError extends Error {
  override readonly name = "EmulatorBugError";
  readonly operation: string | undefined;

  constructor(message: string, options: { readonly operation?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.operation = options.operation;
  }
}
