import { sendLoad } from "./support/load.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";
import { type BenchProcess, ProcessGroup } from "./support/processes.ts";

/** Compares a forwarded POST with a bare proxy library. The upstream server and both proxies are separate processes. */
const headers = { "content-type": "application/json", "client-id": "app" };
const body = JSON.stringify({ event: "x".repeat(1_000) });

await using parties = new ProcessGroup();
const upstream = await parties.start("answering", { body: { ok: true } });
const bare = await parties.start("proxy", { upstream: upstream.ready.url });
const router = await parties.emulator({
  ephemeral: true,
  seed: {
    clusters: [{ id: "eu-1", label: "eu", external_url: upstream.ready.url }],
    mappings: { cluster_clients: { "eu-1": ["app"] } },
  },
});

const cpu = { bare: [] as number[], router: [] as number[] };
const createForwardRun = (party: BenchProcess, spent: number[]) => async () => {
  const before = await party.cpuMs();
  const request = { path: "/some/hook", method: "POST", headers, body } as const;
  const took = await sendLoad({ url: party.ready.url, ...request, connections: 32, count: 10_000 });
  spent.push((await party.cpuMs()) - before);
  return took;
};
const warming = 2;
const runs = [createForwardRun(bare, cpu.bare), createForwardRun(router, cpu.router)] as const;
const [bareMs, routerMs] = await runAlternately(5, runs, warming);
reportFigure(
  "a forwarded POST, against @fastify/reply-from doing the same bare",
  computeRatios(bareMs, routerMs),
  ">= 0.7",
);
writeNote(`by CPU time of the proxies ${computeMedian(computeRatios(cpu.bare, cpu.router).slice(warming)).toFixed(2)}`);
