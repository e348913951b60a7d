import assert from "node:assert/strict";
import { it } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";

it("clusters.list returns every cluster with its keys and first API key", async (t) => {
  const emulator = await startTestEmulator(t);
  assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "clusters")), {
    status: 200,
    body: emulator.clusters.map((cluster, i) => ({
      id: cluster.id,
      label: ["eu", "us"][i],
      url: cluster.url,
      own_url: cluster.url,
      external: false,
      cluster_key: cluster.clusterKey,
      client_id: cluster.clientId,
      client_secret: cluster.clientSecret,
      hmac_key: cluster.hmacKey,
    })),
  });
  const env = { SVC_EMULATOR_URL: emulator.controlUrl, SVC_EMULATOR_TOKEN: emulator.token };
  const { stdout } = await runCli(["emulator", "clusters"], { env });
  assert.equal(
    stdout,
    ["eu", "us"]
      .map(
        (label, i) =>
          `${emulator.clusters[i]?.id}\t${label}\t${emulator.clusters[i]?.url}\tfalse\t${emulator.clusters[i]?.clusterKey}\n`,
      )
      .join(""),
  );
});
