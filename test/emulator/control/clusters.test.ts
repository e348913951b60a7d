import assert from "node:assert/strict";
import { it } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";

it("clusters.list returns every cluster with its keys and first API key", async (t) => {
  const twin = await startTestEmulator(t);
  assert.deepEqual(pickStatusAndBody(await twin.ask("GET", "clusters")), {
    status: 200,
    body: twin.clusters.map((one, i) => ({
      id: one.id,
      label: ["eu", "us"][i],
      url: one.url,
      own_url: one.url,
      external: false,
      cluster_key: one.clusterKey,
      client_id: one.clientId,
      client_secret: one.clientSecret,
      hmac_key: one.hmacKey,
    })),
  });
  const env = { SVC_EMULATOR_URL: twin.controlUrl, SVC_EMULATOR_TOKEN: twin.token };
  const { out } = await runCli(["emulator", "clusters"], { env });
  assert.equal(
    out,
    ["eu", "us"]
      .map(
        (label, i) =>
          `${twin.clusters[i]?.id}\t${label}\t${twin.clusters[i]?.url}\tfalse\t${twin.clusters[i]?.clusterKey}\n`,
      )
      .join(""),
  );
});
