import { computeMedian, computeRatios, type Goal, reportFigure, runAlternately, writeNote } from "./measure.ts";
import type { BenchProcess } from "./processes.ts";

/** Resources used by a load. */
export interface ResourceUse {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Measures the wall time of a load and its cost for the server. */
export async function measureResourceUse(party: BenchProcess, work: () => Promise<number>): Promise<ResourceUse> {
  const before = await party.cpuMs();
  const ms = await work();
  return { ms, cpuMs: (await party.cpuMs()) - before };
}

const rounds = 15;
/** After one round, V8 is still compiling the code of a request, and more code in the larger server. */
const warming = 3;

/** Loads two servers alternately. The figure is the speed of the first relative to the second. */
export async function compareServers(
  label: string,
  goal: Goal,
  ours: () => Promise<ResourceUse>,
  bare: () => Promise<ResourceUse>,
): Promise<void> {
  const cpu: [ours: number[], bare: number[]] = [[], []];
  const timed = (which: 0 | 1, work: () => Promise<ResourceUse>) => async () => {
    const { ms, cpuMs } = await work();
    cpu[which].push(cpuMs);
    return ms;
  };
  const [oursMs, bareMs] = await runAlternately(rounds, [timed(0, ours), timed(1, bare)], warming);
  reportFigure(label, computeRatios(bareMs, oursMs), goal);
  writeNote(`by CPU time of the servers ${computeMedian(computeRatios(cpu[1], cpu[0]).slice(warming)).toFixed(2)}`);
}
