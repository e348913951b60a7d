/** Returns the processor time of one run in µs, which is independent of other programs. */
async function measureCpuMicroseconds(work: () => unknown): Promise<number> {
  const startUsage = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(startUsage);
  return user + system;
}

/**
 * Returns the ratio of the processor times of two functions. Both run alternately, because of garbage collection and
 * compilation, and their best runs are compared. Stops when the ratio is less than `below`.
 */
export async function measureCostRatio(work: () => unknown, reference: () => unknown, below = 0): Promise<number> {
  await reference();
  await work();
  let least = Number.POSITIVE_INFINITY;
  let usual = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round += 1) {
    usual = Math.min(usual, await measureCpuMicroseconds(reference));
    least = Math.min(least, await measureCpuMicroseconds(work));
    if (least < below * usual) break;
  }
  return least / usual;
}
