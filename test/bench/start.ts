import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundled } from "./support/bundled.ts";
import { draft } from "./support/draft.ts";
import { figure, inTurns, median, note } from "./support/measure.ts";
import { Parties } from "./support/processes.ts";

/**
 * What the command line takes from start to end, against a process of Node's that does nothing: of the processor, where
 * the system tells, since other work moves that less than the time on the wall.
 */
const { folder, remove } = await bundled();
const home = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new Parties();
  const { url, clusters } = (await parties.emulator({ ephemeral: true })).ready;
  const { clientId = "", clientSecret = "" } = clusters[0]!;
  // Certificates that Node is told to load beside its own cost every process as much as all the rest, on both sides.
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
    body: JSON.stringify(draft),
  });
  const cpu = new Map<string, number>();
  const run =
    (...args: string[]) =>
    () => {
      const name = args.join(" ");
      const [begin, cpuBefore] = [performance.now(), cpuOfChildren()];
      const { status, stderr } = spawnSync(process.execPath, args, { env });
      if (status !== 0) throw new Error(`${name}: ${stderr}`);
      cpu.set(name, (cpu.get(name) ?? 0) + cpuOfChildren() - cpuBefore);
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
  const [bare, ...times] = await inTurns(21, [run("-e", "0"), ...commands.map(({ words }) => run(svc, ...words))]);
  const [bareTicks = Number.NaN, ...ticks] = cpu.values();
  const wall = times.map((of) => median(of) / median(bare!));
  for (const [i, { words, goal }] of commands.entries()) {
    const ratio = ticks[i]! / bareTicks;
    figure(`svc ${words.join(" ")}, against node -e 0`, Number.isNaN(ratio) ? wall[i]! : ratio, goal);
  }
  note(`by the time on the wall: ${wall.map((ratio) => ratio.toFixed(2)).join(", ")}`);
  note(`node -e 0 took ${Math.round(median(bare!))} ms`);
} finally {
  await remove();
  await rm(home, { recursive: true });
}

/** Of all that have ended, in ticks of the system; Linux alone tells. */
function cpuOfChildren(): number {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ");
    return Number(fields[13]) + Number(fields[14]);
  } catch {
    return Number.NaN;
  }
}
