/**
 * Runs `work` on the items of a stream, at most `concurrency` at a time; the stream is read no faster than that. The
 * first failure stops the reading, and so does the signal; the work in flight is awaited, then a failure is thrown.
 * Resolves to whether all items were taken.
 */
export async function runConcurrently<T>(
  items: AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  const running = new Set<Promise<void>>();
  let isCut = false;
  let failure: { error: unknown } | undefined;
  try {
    if (signal?.aborted) return false;
    for await (const item of items) {
      isCut = failure !== undefined || signal?.aborted === true;
      if (isCut) break;
      const one = work(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= concurrency) await Promise.race(running);
    }
  } finally {
    // Also when reading fails: what was sent must be accounted for.
    await Promise.all(running);
  }
  if (failure) throw failure.error;
  return !isCut;
}
