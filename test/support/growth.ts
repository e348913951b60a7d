/** The least processor time of some runs, in µs: other programs, which make a run last longer, do not count in it. */
async function shortest(work: () => Promise<unknown>, runs = 3): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run += 1) {
    const begun = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(begun);
    least = Math.min(least, user + system);
  }
  return least;
}

/** How many times as long the processor works at one thing as at another, in the same process and in turn. */
export async function timesAsLong(work: () => Promise<unknown>, reference: () => Promise<unknown>): Promise<number> {
  await reference();
  const usual = await shortest(reference);
  return (await shortest(work)) / usual;
}
