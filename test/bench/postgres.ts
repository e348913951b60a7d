import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer, postgresSkipReason } from "../support/postgres/server.ts";
import { bundlePackage } from "./support/bundled.ts";
import { compareServers, measureResourceUse } from "./support/compare-servers.ts";
import { sendLoad } from "./support/load.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";
import { type BenchProcess, ProcessGroup } from "./support/processes.ts";
import { measureProgram, startProgram, writeLines } from "./support/programs.ts";

/**
 * Compares a store in PostgreSQL with one in a file, both packaged and durable. The server has default settings, a Unix
 * socket and fsync. Also measures the time without responses after the leader is killed or stopped.
 */
const million = 1_000_000;
const hash = (i: number): string => createHash("sha256").update(`person.${i}@example.com`).digest("hex");
const key = "key-of-eu-1";
const headers = { "x-cluster-key": key, "content-type": "application/json" };
const knownHash = hash(0);
const seed = {
  clusters: [{ id: "eu-1", label: "eu", key, external_url: "http://127.0.0.1:9" }],
  mappings: { cluster_emails: { "eu-1": [knownHash] } },
};
const table = "/router/v1/cluster_emails";
const server = postgresSkipReason ? undefined : new PostgresServer([]);
const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
let next = 1;

if (!server) writeNote(`skipped: ${postgresSkipReason}`);
else {
  try {
    await server.start();
    await compareLoads(server);
    await compareMillion(server);
    await takeOver(server);
  } finally {
    await server.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

async function compareLoads(server: PostgresServer): Promise<void> {
  await using parties = new ProcessGroup();
  const shared = await parties.emulator({ store: server.url(), schema: server.freshSchema(), port: 0, seed });
  const file = await parties.emulator({ file: join(folder, "emulator.json"), port: 0, seed });
  const write = (party: BenchProcess) => () => measureResourceUse(party, () => map(party.ready.url, 1, 5_000, 64));
  await compareServers(
    "durable single writes at 64 connections in PostgreSQL, against a file",
    ">= 0.5",
    write(shared),
    write(file),
  );
  const lookUp = (party: BenchProcess) => () =>
    measureResourceUse(party, () =>
      sendLoad({ url: party.ready.url, path: `${table}/email/${knownHash}`, headers, connections: 32, count: 12_000 }),
    );
  await compareServers(
    "look-ups on a leader of a store in PostgreSQL, against a file",
    ">= 0.95",
    lookUp(shared),
    lookUp(file),
  );
}

/** Runs the command line with a million addresses on a new state in each round. */
async function compareMillion(server: PostgresServer): Promise<void> {
  const { folder: ships, remove } = await bundlePackage();
  const stops: (() => void)[] = [remove];
  const program = join(ships, "bin", "svc.js");
  const rows = join(folder, "rows.txt");
  await writeLines(rows, million, (i) => `person.${i}@example.com\n`);
  const busiest: [shared: number[], file: number[]] = [[], []];
  const mapInto = (which: 0 | 1, getStateFlags: () => readonly string[], env: () => object) => async () => {
    const emulator = await startProgram(
      [program, "emulator", "start", "--port", "0", "--json", ...getStateFlags()],
      stops,
      env(),
    );
    const before = emulator.cpuMs();
    const base = JSON.parse(emulator.line).router_url;
    const words = ["router", "map-emails", rows, "--cluster", "eu-1", "--base-url", base, "--quiet"];
    const cli = await measureProgram([program, ...words], await mkdtemp(join(folder, "jobs-")));
    busiest[which].push(Math.max(cli.cpuMs, emulator.cpuMs() - before));
    emulator.stop();
    return cli.ms;
  };
  try {
    const [sharedMs, fileMs] = await runAlternately(3, [
      mapInto(
        0,
        () => ["--store", server.url()],
        () => ({ SVC_STORE_SCHEMA: server.freshSchema() }),
      ),
      mapInto(
        1,
        () => ["--file", join(folder, `million-${busiest[1].length}.json`)],
        () => ({}),
      ),
    ]);
    reportFigure("1,000,000 e-mails mapped into PostgreSQL, against a file", computeRatios(fileMs, sharedMs), ">= 0.5");
    writeNote(
      `in PostgreSQL ${Math.round(computeMedian(sharedMs))} ms, in a file ${Math.round(computeMedian(fileMs))} ms`,
    );
    writeNote(`by CPU time of the busiest process ${computeMedian(computeRatios(busiest[1], busiest[0])).toFixed(2)}`);
  } finally {
    for (const stop of stops) stop();
  }
}

async function takeOver(server: PostgresServer): Promise<void> {
  await using parties = new ProcessGroup();
  const options = { store: server.url(), schema: server.freshSchema(), port: 0, seed };
  const first = await parties.emulator(options);
  const { token } = first.ready;
  await map(first.ready.url, 1_000, million / 1_000, 4);
  let leader: BenchProcess = first;
  const killed: number[] = [];
  const stopped: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const standby = await parties.standby(options);
    const isStopped = round % 2 === 1;
    const asking = measureLongestSilence(standby.ready.url);
    // As in a rolling restart, the next process forwards before the previous one is stopped.
    await sleep(3_000);
    if (isStopped) {
      const response = await fetch(`${leader.ready.url}/_emulator/stop`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      });
      if (response.status !== 202) throw new Error(`stop: ${response.status}`);
    } else await leader.kill();
    const { silenceMs, failed } = await asking;
    if (isStopped && failed > 0) throw new Error(`${failed} requests failed during a planned hand-over`);
    (isStopped ? stopped : killed).push(silenceMs / 1_000);
    leader = standby;
  }
  reportFigure("no answer after kill -9 of the leader with 1,000,000 mappings, seconds", killed, "< 5");
  reportFigure("no answer in a planned hand-over with 1,000,000 mappings, seconds", stopped, "< 5");
}

/**
 * Looks up identifiers through a standby until it has led for a while. Returns the longest time between two responses.
 */
async function measureLongestSilence(url: string): Promise<{ silenceMs: number; failed: number }> {
  const role = async () => {
    const { body } = await fetch(`${url}/_emulator/live`).then(async (response) => ({ body: await response.json() }));
    return (body as { role?: string }).role;
  };
  let silenceMs = 0;
  let failed = 0;
  let last = performance.now();
  for (let after = 0; after < 20; ) {
    const response = await fetch(`${url}${table}/email/${knownHash}`, { headers }).catch(() => undefined);
    await response?.text();
    if (response?.status === 200) {
      const now = performance.now();
      silenceMs = Math.max(silenceMs, now - last);
      last = now;
      if ((await role()) === "leader") after += 1;
    } else {
      failed += 1;
      await sleep(5);
    }
  }
  return { silenceMs, failed };
}

/** Maps new addresses in requests of equal size. Returns the duration in milliseconds. */
function map(url: string, size: number, count: number, connections: number): Promise<number> {
  const body = Array.from({ length: count }, () => {
    const list = Array.from({ length: size }, (_, i) => hash(next + i));
    next += size;
    return JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" });
  });
  return sendLoad({ url, path: `${table}/bulk`, method: "POST", headers, body, connections, count });
}
