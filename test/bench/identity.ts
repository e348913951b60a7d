import { sendLoad } from "./support/load.ts";
import { computeRatios, reportFigure, runAlternately } from "./support/measure.ts";
import { ProcessGroup } from "./support/processes.ts";

/** Compares the router's combined responses with a direct response of a cluster, one request at a time. */
await using parties = new ProcessGroup();
const emulator = await parties.emulator({ ephemeral: true });
const { url, clusters } = emulator.ready;
const paths = { "JWKS aggregation": "/.well-known/jwks.json", discovery: "/.well-known/openid-configuration" };

for (const [label, path] of Object.entries(paths)) {
  const createLoad = (clusterUrl: string) => () => sendLoad({ url: clusterUrl, path, connections: 1, count: 500 });
  const [first, second, aggregated] = await runAlternately(5, [
    createLoad(clusters[0]!.url),
    createLoad(clusters[1]!.url),
    createLoad(url),
  ]);
  const slowest = first.map((ms, round) => Math.max(ms, second[round]!));
  reportFigure(`${label}, against the slowest cluster's answer`, computeRatios(aggregated, slowest), "< 3");
}
