import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { causes, createCauseRowFactory, maxCauses } from "../../emulator/store/causes.ts";
import { openFileStore } from "../../emulator/store/file/file-store.ts";
import { openMemoryStore } from "../../emulator/store/memory-store.ts";
import type { Cause, Store } from "../../emulator/store/port.ts";
import { systemWallClock } from "../../src/base/clock.ts";
import { collections, createPerson, owners, people } from "../support/store.ts";
import { computeMedian, reportFigure, writeNote } from "./support/measure.ts";

/**
 * Measures the store's own ratios in one run: `node --import tsx test/bench/store.ts`. Other benchmarks measure the
 * ratios over HTTP.
 */
const manyRows = 1_000_000;
const fewRows = 1_000;
const createIdentifier = (i: number): string => createHash("sha256").update(String(i)).digest("hex");

const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  const small = await createFilledStore("small.json", fewRows);
  const before = measureMemoryBytes();
  const large = await createFilledStore("large.json", manyRows);
  reportFigure("bytes of memory per mapping", (measureMemoryBytes() - before) / manyRows, "");
  await compareCosts(small, large);
  await comparePages();
  await compareDurable();
  await compareHistory();
  await compareCauses();
  await small.close();
  await large.close();
  await compareStartup(join(folder, "large.json"));
} finally {
  await rm(folder, { recursive: true });
}

async function createFilledStore(name: string, count: number): Promise<Store> {
  const store = await openFileStore({ path: join(folder, name), collections, wall: systemWallClock });
  for (let at = 0; at < count; at += 1_000) {
    const batch = Array.from({ length: Math.min(1_000, count - at) }, (_, i) => createIdentifier(at + i));
    await store.transaction("map", (tx) => tx.map(owners, at % 2_000 ? "eu-1" : "us-1", batch));
  }
  return store;
}

/** Returns the bytes of the heap and of external memory. */
function measureMemoryBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function compareCosts(small: Store, large: Store): Promise<void> {
  const lookUp = (store: Store, count: number) => async (i: number) => {
    store.lookup(owners, createIdentifier((i * 7_919) % count));
  };
  const write = (store: Store) => async (i: number) => {
    await store.transaction("map", (tx) => tx.map(owners, "eu-1", [`new ${i}`]));
  };
  const [lookSmall, lookLarge] = await measureAlternately(lookUp(small, fewRows), lookUp(large, manyRows), 20_000, 1);
  reportFigure(
    "look-up with 1,000,000 stored against 1,000 (without HTTP: misses of the CPU's cache)",
    lookLarge / lookSmall,
    "",
  );
  const [writeSmall, writeLarge] = await measureAlternately(write(small), write(large), 4_000, 64);
  reportFigure("durable write with 1,000,000 stored against 1,000 (without HTTP)", writeLarge / writeSmall, "");
}

async function comparePages(): Promise<void> {
  const table = async (count: number) => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    await store.transaction("fill", (tx) => {
      for (let id = 1; id <= count; id += 1) tx.put(people, createPerson(id, { age: id % 50 }));
    });
    return async () => {
      [
        store.list(people, { by: "age", reverse: true, offset: 20, limit: 50 }),
        store.count(people, { by: "age", from: 10, to: 40 }),
      ];
    };
  };
  const [small, large] = await measureAlternately(await table(100), await table(100_000), 20_000, 1);
  reportFigure("page and count with 100,000 rows against 100", large / small, "<= 1.3");
}

async function compareDurable(): Promise<void> {
  const memory = openMemoryStore({ collections, wall: systemWallClock });
  const file = await openFileStore({ path: join(folder, "durable.json"), collections, wall: systemWallClock });
  const write = (store: Store) => async (i: number) => {
    await store.transaction("put", (tx) => tx.put(people, createPerson(i)));
  };
  const [inMemory, onDisk] = await measureAlternately(write(memory), write(file), 20_000, 64);
  reportFigure("writes a second, 64 at once, durable against memory (without HTTP)", inMemory / onDisk, "");
  writeNote(`durable: ${Math.round(1e6 / onDisk)} a second`);
  await memory.close();
  await file.close();
}

/**
 * Small checkpoints and a small limit, so that checkpoints are replaced and the oldest history is removed repeatedly.
 */
async function compareHistory(): Promise<void> {
  const limit = 8 * 1_048_576;
  const open = (name: string, historyBytes: number) =>
    openFileStore({
      ...{ path: join(folder, name), collections, wall: systemWallClock },
      ...{ compactAfterBytes: 1_048_576, historyBytes },
    });
  const bare = await open("bare.json", 0);
  const withHistoryStore = await open("kept.json", limit);
  const write = (store: Store) => async (i: number) => {
    await store.transaction("put", (tx) => tx.put(people, createPerson(i % fewRows, { age: i })));
  };
  const [without, withHistory] = await measureAlternately(write(bare), write(withHistoryStore), 20_000, 64);
  reportFigure("durable writes with history kept, against without (without HTTP)", without / withHistory, ">= 0.9");
  await bare.close();
  await withHistoryStore.close();
  const history = join(folder, "kept.json.history");
  const files = await readdir(history);
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(history, name))).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  reportFigure("what history takes on the disk, against its limit", bytes / limit, "<= 1");
}

/**
 * Writes more causes than are retained, so that the oldest are removed. Each write is a single mapping, the shortest
 * write.
 */
async function compareCauses(): Promise<void> {
  const open = (name: string) =>
    openFileStore({ path: join(folder, name), collections: [...collections, causes], wall: systemWallClock });
  const bare = await open("causeless.json");
  const withCausesStore = await open("caused.json");
  const row = createCauseRowFactory({ wall: systemWallClock });
  const label = "cluster-emails.map POST /router/v1/cluster_emails/bulk";
  const causeOf = (id: string): Cause => ({
    id,
    createRow: (before) => row({ id, what: label, at: systemWallClock.now(), before }),
  });
  const write =
    (store: Store, cause = (id: string): Cause => ({ id })) =>
    async (i: number) => {
      const identifiers = [String(i).padStart(64, "0")];
      await store.transaction("map", (tx) => tx.map(owners, "eu-1", identifiers), cause(`request:${i}`));
    };
  const [without, withCauses] = await measureAlternately(write(bare), write(withCausesStore, causeOf), maxCauses, 64);
  reportFigure("durable writes with their causes, against without (without HTTP)", without / withCauses, "");
  await bare.close();
  await withCausesStore.close();
}

/**
 * Compares a process that opens the store with one that reads and parses the same file, both without the start of Node.
 */
async function compareStartup(path: string): Promise<void> {
  const program = join(folder, "open.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "support/open-store.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  const parse = `JSON.parse(require("node:fs").readFileSync(${JSON.stringify(path)}, "utf8"))`;
  const run = (...args: string[]) => {
    const start = performance.now();
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    if (status !== 0) throw new Error(`${args[0]} failed`);
    return performance.now() - start;
  };
  const parsed: number[] = [];
  const openTimes: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    parsed.push(run("-e", parse));
    openTimes.push(run(program, path, String(manyRows)));
  }
  reportFigure(
    "start with 1,000,000 stored against reading and parsing the file",
    computeMedian(openTimes) / computeMedian(parsed),
    "<= 3",
  );
  writeNote(`${Math.round(computeMedian(openTimes))} ms against ${Math.round(computeMedian(parsed))} ms`);
}

type Work = (i: number) => Promise<void>;

/**
 * Returns the median microseconds per call of both functions, measured alternately so that disturbances affect both.
 */
async function measureAlternately(a: Work, b: Work, calls: number, atOnce: number): Promise<[a: number, b: number]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < 7; round += 1) {
    for (const [which, work] of [a, b].entries()) {
      const start = performance.now();
      let next = round * calls;
      const end = next + calls;
      const worker = async () => {
        while (next < end) {
          next += 1;
          await work(next);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      times[which]?.push(((performance.now() - start) * 1_000) / calls);
    }
  }
  return [computeMedian(times[0]), computeMedian(times[1])];
}
