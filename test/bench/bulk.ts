import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { build } from "esbuild";
import { bundle } from "../../build.ts";
import { emailHash } from "../../src/schemes/email-hash.ts";

/**
 * `svc router map-emails` into an emulator that keeps its state in a file, against a bare undici sender that posts the
 * same bodies, ready made, to a bare server that parses them: `node --import tsx test/bench/bulk.ts`. Every party is a
 * process of its own, started anew in each round; wall time from start to end.
 */
const million = 1_000_000;
const batchSize = 1_000;
const concurrency = 4;
const rounds = 3;
const path = "/router/v1/cluster_emails/bulk";
const address = (i: number): string => `person.${i}@example.com`;

await compare();

async function compare(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const stops: (() => void)[] = [];
  try {
    const { program, bareProgram } = await built(folder);
    const [rows, bodies, manyRows] = ["rows.txt", "bodies.ndjson", "many.txt"].map((name) => join(folder, name));
    await write(rows!, million, (i) => `${address(i)}\n`);
    await write(bodies!, million / batchSize, bodyOf);
    const mapping = (input: string, base: string) =>
      run([program, "router", "map-emails", input, "--cluster", "eu-1", "--base-url", base, "--quiet"], folder);
    const times: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
    const busiest: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
    const memory: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const bare = await start([bareProgram, "server"], stops);
      const sender = await run([bareProgram, "sender", bodies!, bare.line, String(concurrency), path]);
      times.bare.push(sender.ms);
      busiest.bare.push(Math.max(sender.cpuMs, bare.cpuMs()));
      bare.stop();
      const state = join(folder, `state-${round}.json`);
      const emulator = await start([program, "emulator", "start", "--port", "0", "--file", state, "--json"], stops);
      const ours = await mapping(rows!, JSON.parse(emulator.line).router_url);
      times.ours.push(ours.ms);
      busiest.ours.push(Math.max(ours.cpuMs, emulator.cpuMs()));
      memory.push(ours.peakMb);
      emulator.stop();
    }
    const [bareMs, oursMs] = [median(times.bare), median(times.ours)];
    print("1,000,000 e-mails mapped, against a bare sender and server", bareMs / oursMs, ">= 0.5");
    process.stdout.write(`    bare ${Math.round(bareMs)} ms, ours ${Math.round(oursMs)} ms\n`);
    // On a machine that does other things meanwhile, this tells what the wall time would be on an idle one.
    print("the same by the processor time of the busiest process", median(busiest.bare) / median(busiest.ours), "");
    print("memory of the command line meanwhile, MB", Math.max(...memory), "< 150");

    await write(manyRows!, 10 * million, (i) => `${address(i)}\n`);
    const bare = await start([bareProgram, "server"], stops);
    print("memory with 10,000,000, MB", (await mapping(manyRows!, bare.line)).peakMb, "< 150");
  } finally {
    for (const stop of stops) stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function bodyOf(batch: number): string {
  const list = Array.from({ length: batchSize }, (_, i) => emailHash(address(batch * batchSize + i)));
  return `${JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" })}\n`;
}

async function write(to: string, count: number, line: (i: number) => string): Promise<void> {
  const stream = createWriteStream(to);
  for (let at = 0; at < count; at += batchSize) {
    const lines = Array.from({ length: Math.min(batchSize, count - at) }, (_, i) => line(at + i)).join("");
    if (!stream.write(lines)) await once(stream, "drain");
  }
  stream.end();
  await finished(stream);
}

/** The bundle that ships, with a door of its own, and the bare parties: programs that start equally fast. */
async function built(folder: string): Promise<{ program: string; bareProgram: string }> {
  await bundle(join(folder, "dist"));
  const program = join(folder, "svc.mjs");
  const text = `import { main, processHost } from "./dist/main.js";
    process.exitCode = await main(process.argv.slice(2), processHost("0"));\n`;
  await write(program, 1, () => text);
  const bareProgram = join(folder, "bare.mjs");
  await build({
    stdin: { contents: `import "./support/bulk-bare.ts";`, resolveDir: import.meta.dirname },
    outfile: bareProgram,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  return { program, bareProgram };
}

interface Party {
  readonly line: string;
  readonly stop: () => void;
  readonly cpuMs: () => number;
}

/** A process that prints a line when it is ready. */
async function start(args: string[], stops: (() => void)[]): Promise<Party> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const stop = () => void child.kill();
  stops.push(stop);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { line, stop, cpuMs: () => cpuOf(child.pid!) };
}

/** Wall and processor time of a process, and the most memory that it held (the latter two where the system tells). */
async function run(args: string[], state = ""): Promise<{ ms: number; cpuMs: number; peakMb: number }> {
  const begin = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, SVC_STATE_DIR: join(state, "jobs"), CI: "1" },
  });
  let peakMb = 0;
  let cpuMs = 0;
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(child.pid!));
    cpuMs = Math.max(cpuMs, cpuOf(child.pid!));
  }, 20);
  const [code] = await once(child, "exit");
  clearInterval(look);
  if (code !== 0) throw new Error(`${args.join(" ")} exited ${code}`);
  return { ms: performance.now() - begin, cpuMs, peakMb };
}

/** Of all its threads, in ms; a tick is 10 of them. */
function cpuOf(pid: number): number {
  try {
    const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ").slice(13, 15).map(Number);
    return (user + system) * 10;
  } catch {
    return 0;
  }
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function print(what: string, figure: number, goal: string): void {
  process.stdout.write(`${what.padEnd(78)} ${figure.toFixed(2).padStart(6)}  ${goal}\n`);
}
