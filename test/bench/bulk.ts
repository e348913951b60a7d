import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { hashEmail } from "../../src/base/email-address.ts";
import { defaultConcurrency } from "../../src/cli/commands/router/bulk/plan.ts";
import { defaultBatchSize } from "../../src/cli/commands/router/mapping.ts";
import { bundlePackage } from "./support/bundled.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";
import { measureProgram, startProgram, writeLines } from "./support/programs.ts";

/**
 * Compares `svc router map-emails` on an emulator with a file store with a bare undici sender of the same bodies and a
 * bare server that parses them. Run with `node --import tsx test/bench/bulk.ts`. Each party is a new process in each
 * round. The figure is wall time from start to end.
 */
const million = 1_000_000;
const rounds = 3;
const path = "/router/v1/cluster_emails/bulk";
const createAddress = (i: number): string => `person.${i}@example.com`;

await compare();

async function compare(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const { folder: ships, remove } = await bundlePackage();
  const stops: (() => void)[] = [remove];
  try {
    const program = join(ships, "bin", "svc.js");
    const bareProgram = await buildBareProgram(folder);
    const [rows, bodies, manyRows] = ["rows.txt", "bodies.ndjson", "many.txt"].map((name) => join(folder, name));
    await writeLines(rows!, million, (i) => `${createAddress(i)}\n`);
    await writeLines(bodies!, million / defaultBatchSize, createRequestLine);
    const mapping = (input: string, base: string) =>
      measureProgram(
        [program, "router", "map-emails", input, "--cluster", "eu-1", "--base-url", base, "--quiet"],
        folder,
      );

    const busiest: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
    const memory: number[] = [];
    const [bareMs, oursMs] = await runAlternately(rounds, [
      async () => {
        const server = await startProgram([bareProgram, "server"], stops);
        const sender = await measureProgram([
          bareProgram,
          "sender",
          bodies!,
          server.line,
          String(defaultConcurrency),
          path,
        ]);
        busiest.bare.push(Math.max(sender.cpuMs, server.cpuMs()));
        server.stop();
        return sender.ms;
      },
      async () => {
        const state = join(folder, `state-${memory.length}.json`);
        const emulator = await startProgram(
          [program, "emulator", "start", "--port", "0", "--file", state, "--json"],
          stops,
        );
        const before = emulator.cpuMs();
        const ours = await mapping(rows!, JSON.parse(emulator.line).router_url);
        busiest.ours.push(Math.max(ours.cpuMs, emulator.cpuMs() - before));
        memory.push(ours.peakMb);
        emulator.stop();
        return ours.ms;
      },
    ]);
    reportFigure("1,000,000 e-mails mapped, against a bare sender and server", computeRatios(bareMs, oursMs), ">= 0.5");
    writeNote(`bare ${Math.round(computeMedian(bareMs))} ms, ours ${Math.round(computeMedian(oursMs))} ms`);
    // On a busy machine, this figure estimates the wall time on an idle one.
    reportFigure(
      "the same by the processor time of the busiest process",
      computeRatios(busiest.bare, busiest.ours),
      "",
    );
    reportFigure("memory of the command line meanwhile, MB", Math.max(...memory), "< 200");

    await writeLines(manyRows!, 10 * million, (i) => `${createAddress(i)}\n`);
    const bare = await startProgram([bareProgram, "server"], stops);
    reportFigure("memory with 10,000,000, MB", (await mapping(manyRows!, bare.line)).peakMb, "< 200");
  } finally {
    for (const stop of stops) stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function createRequestLine(batch: number): string {
  const list = Array.from({ length: defaultBatchSize }, (_, i) =>
    hashEmail(createAddress(batch * defaultBatchSize + i)),
  );
  return `${JSON.stringify({ email_hash_list: list, cluster_id: "eu-1" })}\n`;
}

/** Bundles the bare parties into one file, so that they start as fast as the package. */
async function buildBareProgram(folder: string): Promise<string> {
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
