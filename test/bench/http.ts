import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareServers, measureResourceUse } from "./support/compare-servers.ts";
import { sendLoad } from "./support/load.ts";
import { type BenchProcess, ProcessGroup } from "./support/processes.ts";

/**
 * Compares the mapping tables over HTTP with bare Fastify routes. The servers are separate processes, and this process
 * is the load.
 */
const hash = (i: number): string => createHash("sha256").update(`person.${i}@example.com`).digest("hex");
const knownHash = hash(0);
const key = "key-of-eu-1";
const headers = { "x-cluster-key": key, "content-type": "application/json" };
const seed = {
  clusters: [{ id: "eu-1", label: "eu", key, external_url: "http://127.0.0.1:9" }],
  mappings: { cluster_emails: { "eu-1": [knownHash] } },
};
const bulkPath = "/router/v1/cluster_emails/bulk";

const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new ProcessGroup();
  const bare = await parties.start("tables", { owners: { [knownHash]: "eu-1" } });
  const memory = await parties.emulator({ ephemeral: true, seed });
  const durable = await parties.emulator({ file: join(folder, "emulator.json"), seed });

  const lookUp = (party: BenchProcess) => () =>
    measureResourceUse(party, () =>
      sendLoad({
        url: party.ready.url,
        path: `/router/v1/cluster_emails/email/${knownHash}`,
        headers,
        connections: 32,
        count: 12_000,
      }),
    );
  await compareServers(
    "reading one e-mail mapping, against a bare Fastify route",
    ">= 0.85",
    lookUp(memory),
    lookUp(bare),
  );

  let next = 1;
  /** Each request maps new addresses, because a request without changes writes nothing. */
  const map = (party: BenchProcess, size: number, count: number, connections: number) => () => {
    const body = Array.from({ length: count }, () => {
      const list = Array.from({ length: size }, (_, i) => hash(next + i));
      next += size;
      return JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" });
    });
    const { url } = party.ready;
    return measureResourceUse(party, () =>
      sendLoad({ url, path: bulkPath, method: "POST", headers, body, connections, count }),
    );
  };
  await compareServers(
    "durable single writes at 64 connections, against the same with --ephemeral",
    ">= 0.65",
    map(durable, 1, 5_000, 64),
    map(memory, 1, 5_000, 64),
  );
  await compareServers(
    "durable mapping in batches of 1,000, against bare Fastify into a Map",
    ">= 0.4",
    map(durable, 1_000, 150, 4),
    map(bare, 1_000, 150, 4),
  );
} finally {
  await rm(folder, { recursive: true });
}
