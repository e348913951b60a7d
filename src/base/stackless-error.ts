/**
 * An error that is thrown to answer with, and not because something is wrong: nobody asks where it was thrown, and to note
 * that takes up to a quarter of the time of a refused look-up.
 */
export class StacklessError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    // Not by assignment, which throws where nobody may change what the language brings (`node --frozen-intrinsics`).
    Reflect.set(Error, "stackTraceLimit", 0);
    super(message);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
