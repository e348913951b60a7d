import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendLoad } from "./support/load.ts";
import { computeRatios, reportFigure, runAlternately } from "./support/measure.ts";
import { type BenchProcess, ProcessGroup } from "./support/processes.ts";

/**
 * Compares a request to a mapping table with 1,000,000 rows to one with 1,000 rows, on two durable emulators over HTTP.
 */
const [manyRows, fewRows] = [1_000_000, 1_000];
const hash = (i: number): string => createHash("sha256").update(`person.${i}@example.com`).digest("hex");
const key = "key-of-eu-1";
const headers = { "x-cluster-key": key, "content-type": "application/json" };
const seed = { clusters: [{ id: "eu-1", label: "eu", key, external_url: "http://127.0.0.1:9" }] };
const table = "/router/v1/cluster_emails";
let next = manyRows;

const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new ProcessGroup();
  const large = await parties.emulator({ file: join(folder, "large.json"), seed });
  const small = await parties.emulator({ file: join(folder, "small.json"), seed });
  for (let at = 0; at < manyRows; at += 100_000) await map(large, at, 1_000, 100, 4);
  await map(small, 0, fewRows, 1, 1);

  const lookUp = (party: BenchProcess, stored: number) => () => {
    const path = Array.from({ length: 5_000 }, (_, i) => `${table}/email/${hash((i * 7_919) % stored)}`);
    return sendLoad({ url: party.ready.url, path, headers, connections: 32, count: path.length });
  };
  const [ofMany, ofFew] = await runAlternately(5, [lookUp(large, manyRows), lookUp(small, fewRows)]);
  reportFigure("look-up with 1,000,000 stored, against 1,000", computeRatios(ofMany, ofFew), "<= 1.3");

  const write = (party: BenchProcess) => () => {
    next += 3_000;
    return map(party, next, 1, 3_000, 64);
  };
  const [intoMany, intoFew] = await runAlternately(5, [write(large), write(small)]);
  reportFigure("durable write with 1,000,000 stored, against 1,000", computeRatios(intoMany, intoFew), "<= 1.3");
} finally {
  await rm(folder, { recursive: true });
}

/** Maps addresses from a number on, in requests of equal size. Returns the duration in milliseconds. */
function map(party: BenchProcess, from: number, size: number, count: number, connections: number): Promise<number> {
  const body = Array.from({ length: count }, (_, request) => {
    const list = Array.from({ length: size }, (_, i) => hash(from + request * size + i));
    return JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" });
  });
  return sendLoad({ url: party.ready.url, path: `${table}/bulk`, method: "POST", headers, body, connections, count });
}
