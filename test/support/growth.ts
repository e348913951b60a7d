/** The shortest of some runs, in milliseconds: what else the machine does only ever makes one longer. */
async function shortest(work: () => Promise<unknown>, runs = 3): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run += 1) {
    const begun = performance.now();
    await work();
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}

/** How many times as long one work takes as another, in the same process and in turn. */
export async function timesAsLong(work: () => Promise<unknown>, reference: () => Promise<unknown>): Promise<number> {
  await reference();
  const usual = await shortest(reference);
  return (await shortest(work)) / usual;
}
