import { figure, type Goal, inTurns, median, note, ratios } from "./measure.ts";
import type { Party } from "./processes.ts";

/** What a load took. */
export interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Wall time of the load, and what it cost the server. */
export async function spent(party: Party, work: () => Promise<number>): Promise<Spent> {
  const before = await party.cpuMs();
  const ms = await work();
  return { ms, cpuMs: (await party.cpuMs()) - before };
}

const rounds = 15;
/** After one the engine still compiles what serves a request, more of it in the server that does more. */
const warming = 3;

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
  const [oursMs, bareMs] = await inTurns(rounds, [timed(0, ours), timed(1, bare)], warming);
  figure(what, ratios(bareMs, oursMs), goal);
  note(`by CPU time of the servers ${median(ratios(cpu[1], cpu[0]).slice(warming)).toFixed(2)}`);
}
