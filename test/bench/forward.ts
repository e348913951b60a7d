import { send } from "./support/load.ts";
import { figure, inTurns, median, note, ratios } from "./support/measure.ts";
import { Parties, type Party } from "./support/processes.ts";

/** A forwarded POST against a library that does the same bare: upstream and both proxies are processes of their own. */
const headers = { "content-type": "application/json", "client-id": "app" };
const body = JSON.stringify({ event: "x".repeat(1_000) });

await using parties = new Parties();
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
const forwarded = (party: Party, spent: number[]) => async () => {
  const before = await party.cpuMs();
  const request = { path: "/some/hook", method: "POST", headers, body } as const;
  const took = await send({ url: party.ready.url, ...request, connections: 32, count: 10_000 });
  spent.push((await party.cpuMs()) - before);
  return took;
};
const warming = 2;
const turns = [forwarded(bare, cpu.bare), forwarded(router, cpu.router)] as const;
const [bareMs, routerMs] = await inTurns(5, turns, warming);
figure("a forwarded POST, against @fastify/reply-from doing the same bare", ratios(bareMs, routerMs), ">= 0.7");
note(`by CPU time of the proxies ${median(ratios(cpu.bare, cpu.router).slice(warming)).toFixed(2)}`);
