/** The processor time of one run, in µs: other programs, which make a run last longer, do not count in it. */
async function cost(work: () => unknown): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return user + system;
}

/**
 * How many times as long the processor works at one thing as at another: each at its best of some rounds, in turns,
 * for collecting garbage and compiling come between. No more rounds than are needed to see that it is less than `below`.
 */
export async function timesAsLong(work: () => unknown, reference: () => unknown, below = 0): Promise<number> {
  await reference();
  await work();
  let least = Number.POSITIVE_INFINITY;
  let usual = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round += 1) {
    usual = Math.min(usual, await cost(reference));
    least = Math.min(least, await cost(work));
    if (least < below * usual) break;
  }
  return least / usual;
}
