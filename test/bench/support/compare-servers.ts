import { figure, type Goal, inTurns, note, ratios } from "./measure.ts";
import type { Party } from "./processes.ts";

/** What a load took. */
export interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Wall time of the load, and what it cost the server. */
export async function spent(party: Party, work: () => Promise<number>): Promise<Spent> {
  const before = await party.usage();
  const ms = await work();
  return { ms, cpuMs: (await party.usage()).cpuMs - before.cpuMs };
}

/** Loads two servers in turns; the figure is how many times as fast as the other the first one is. */
export async function compareServers(
  what: string,
  goal: Goal,
  ours: () => Promise<Spent>,
  bare: () => Promise<Spent>,
): Promise<void> {
  const cpu: [ours: number[], bare: number[]] = [[], []];
  const timed = (which: 0 | 1, work: () => Promise<Spent>) => async () => {
    const { ms, cpuMs } = await work();
    cpu[which].push(cpuMs);
    return ms;
  };
  const [oursMs, bareMs] = await inTurns(5, [timed(0, ours), timed(1, bare)]);
  figure(what, ratios(bareMs, oursMs), goal);
  const byCpu = ratios(cpu[1].slice(1), cpu[0].slice(1)).toSorted((a, b) => a - b);
  note(`by CPU time of the servers ${byCpu[byCpu.length >> 1]!.toFixed(2)}`);
}
