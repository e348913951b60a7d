import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { defaultConcurrency } from "../../src/cli/commands/router/bulk/flags.ts";
import { batchSize } from "../../src/cli/commands/router/mapping.ts";
import { hashEmail } from "../../src/schemes/email-hash.ts";
import { bundled } from "./support/bundled.ts";
import { figure, inTurns, median, note, ratios } from "./support/measure.ts";
import { linesTo, run, start } from "./support/programs.ts";

/**
 * `svc router map-emails` into an emulator that keeps its state in a file, against a bare undici sender that posts the
 * same bodies, ready made, to a bare server that parses them: `node --import tsx test/bench/bulk.ts`. Every party is a
 * process of its own, started anew in each round; wall time from start to end.
 */
const million = 1_000_000;
const rounds = 3;
const path = "/router/v1/cluster_emails/bulk";
const address = (i: number): string => `person.${i}@example.com`;

await compare();

async function compare(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const { folder: ships, remove } = await bundled();
  const stops: (() => void)[] = [remove];
  try {
    const program = join(ships, "bin", "svc.js");
    const bareProgram = await builtBare(folder);
    const [rows, bodies, manyRows] = ["rows.txt", "bodies.ndjson", "many.txt"].map((name) => join(folder, name));
    await linesTo(rows!, million, (i) => `${address(i)}\n`);
    await linesTo(bodies!, million / batchSize, bodyOf);
    const mapping = (input: string, base: string) =>
      run([program, "router", "map-emails", input, "--cluster", "eu-1", "--base-url", base, "--quiet"], folder);

    const busiest: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
    const memory: number[] = [];
    const [bareMs, oursMs] = await inTurns(rounds, [
      async () => {
        const server = await start([bareProgram, "server"], stops);
        const sender = await run([bareProgram, "sender", bodies!, server.line, String(defaultConcurrency), path]);
        busiest.bare.push(Math.max(sender.cpuMs, server.cpuMs()));
        server.stop();
        return sender.ms;
      },
      async () => {
        const state = join(folder, `state-${memory.length}.json`);
        const emulator = await start([program, "emulator", "start", "--port", "0", "--file", state, "--json"], stops);
        const before = emulator.cpuMs();
        const ours = await mapping(rows!, JSON.parse(emulator.line).router_url);
        busiest.ours.push(Math.max(ours.cpuMs, emulator.cpuMs() - before));
        memory.push(ours.peakMb);
        emulator.stop();
        return ours.ms;
      },
    ]);
    figure("1,000,000 e-mails mapped, against a bare sender and server", ratios(bareMs, oursMs), ">= 0.5");
    note(`bare ${Math.round(median(bareMs))} ms, ours ${Math.round(median(oursMs))} ms`);
    // On a machine that does other things meanwhile, this tells what the wall time would be on an idle one.
    figure("the same by the processor time of the busiest process", ratios(busiest.bare, busiest.ours), "");
    figure("memory of the command line meanwhile, MB", Math.max(...memory), "< 150");

    await linesTo(manyRows!, 10 * million, (i) => `${address(i)}\n`);
    const bare = await start([bareProgram, "server"], stops);
    figure("memory with 10,000,000, MB", (await mapping(manyRows!, bare.line)).peakMb, "< 150");
  } finally {
    for (const stop of stops) stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function bodyOf(batch: number): string {
  const list = Array.from({ length: batchSize }, (_, i) => hashEmail(address(batch * batchSize + i)));
  return `${JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" })}\n`;
}

/** The bare parties as one file, so that they start as fast as what ships. */
async function builtBare(folder: string): Promise<string> {
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
  return bareProgram;
}
