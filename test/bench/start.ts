import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePackage } from "./support/bundled.ts";
import { contractRequest } from "./support/draft.ts";
import { computeMedian, reportFigure, runAlternately, writeNote } from "./support/measure.ts";
import { ProcessGroup } from "./support/processes.ts";

/**
 * Compares the command line with an empty Node process, from start to end. The figure is processor time where
 * available, because other load affects it less than wall time.
 */
const { folder, remove } = await bundlePackage();
const home = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new ProcessGroup();
  const { url, clusters } = (await parties.emulator({ ephemeral: true })).ready;
  const { clientId = "", clientSecret = "" } = clusters[0]!;
  // Loading extra CA certificates would dominate the duration of both processes.
  const { NODE_OPTIONS: _, NODE_EXTRA_CA_CERTS: __, ...inherited } = process.env;
  const env = {
    ...inherited,
    HOME: home,
    SVC_CONFIG_DIR: home,
    SVC_BASE_URL: url,
    SVC_CLIENT_ID: clientId,
    SVC_CLIENT_SECRET: clientSecret,
  };
  await fetch(`${url}/api/v2.1/public/contracts/`, {
    method: "POST",
    headers: { "content-type": "application/json", "client-id": clientId, "client-secret": clientSecret },
    body: JSON.stringify(contractRequest),
  });
  const cpu = new Map<string, number>();
  const run =
    (...args: string[]) =>
    () => {
      const name = args.join(" ");
      const [begin, cpuBefore] = [performance.now(), readChildrenCpuTicks()];
      const { status, stderr } = spawnSync(process.execPath, args, { env });
      if (status !== 0) throw new Error(`${name}: ${stderr}`);
      cpu.set(name, (cpu.get(name) ?? 0) + readChildrenCpuTicks() - cpuBefore);
      return performance.now() - begin;
    };
  const svc = join(folder, "bin", "svc.js");
  // Node 22.8 and later cache compiled code.
  const [ofHelp, ofRequest] =
    "enableCompileCache" in module ? (["<= 1.7", "<= 2.6"] as const) : (["<= 2.0", "<= 3.0"] as const);
  const commands = [
    { words: ["--version"], goal: "<= 1.2" },
    { words: ["help"], goal: ofHelp },
    { words: ["contracts", "create", "--help"], goal: ofHelp },
    { words: ["contracts", "list", "--json"], goal: ofRequest },
    { words: ["router", "show-email", "ada@northwind.example"], goal: ofRequest },
  ] as const;
  const [bare, ...times] = await runAlternately(21, [
    run("-e", "0"),
    ...commands.map(({ words }) => run(svc, ...words)),
  ]);
  const [bareTicks = Number.NaN, ...ticks] = cpu.values();
  const wall = times.map((samples) => computeMedian(samples) / computeMedian(bare!));
  for (const [i, { words, goal }] of commands.entries()) {
    const ratio = ticks[i]! / bareTicks;
    reportFigure(`svc ${words.join(" ")}, against node -e 0`, Number.isNaN(ratio) ? wall[i]! : ratio, goal);
  }
  writeNote(`by the time on the wall: ${wall.map((ratio) => ratio.toFixed(2)).join(", ")}`);
  writeNote(`node -e 0 took ${Math.round(computeMedian(bare!))} ms`);
} finally {
  await remove();
  await rm(home, { recursive: true });
}

/** Returns the processor time of all ended children in system ticks. Linux only. */
function readChildrenCpuTicks(): number {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ");
    return Number(fields[13]) + Number(fields[14]);
  } catch {
    return Number.NaN;
  }
}
