/** Something that only a mistake in the emulator can cause. Answered 500, reported on stderr. */
export class EmulatorBug extends Error {
  override readonly name = "EmulatorBug";
  /** Id of the operation that was being served. */
  readonly operation: string;

  constructor(operation: string, what: string, cause?: unknown) {
    super(`${operation}: ${what}`, cause === undefined ? undefined : { cause });
    this.operation = operation;
  }
}
