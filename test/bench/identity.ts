import { send } from "./support/load.ts";
import { figure, inTurns, ratios } from "./support/measure.ts";
import { Parties } from "./support/processes.ts";

/** What the router puts together from its clusters, against the answer of a cluster asked alone; one call at a time. */
await using parties = new Parties();
const emulator = await parties.emulator({ ephemeral: true });
const { url, clusters } = emulator.ready;
const paths = { "JWKS aggregation": "/.well-known/jwks.json", discovery: "/.well-known/openid-configuration" };

for (const [what, path] of Object.entries(paths)) {
  const ask = (of: string) => () => send({ url: of, path, connections: 1, count: 500 });
  const [first, second, aggregated] = await inTurns(5, [ask(clusters[0]!.url), ask(clusters[1]!.url), ask(url)]);
  const slowest = first.map((ms, round) => Math.max(ms, second[round]!));
  figure(`${what}, against the slowest cluster's answer`, ratios(aggregated, slowest), "< 3");
}
