/** Does something after so many milliseconds of wall time, if the process is still there then; keeps nothing alive. */
export function deadline(ms: number, act: () => void): void {
  setTimeout(act, ms).unref();
}
