import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundled } from "./support/bundled.ts";
import { draft } from "./support/draft.ts";
import { figure, inTurns, median, note } from "./support/measure.ts";
import { Parties } from "./support/processes.ts";

/** How long the command line takes from start to end, against a process of Node's that does nothing. */
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
  const [bare, version, help, ...requests] = await inTurns(21, [
    run("-e", "0"),
    run(svc, "--version"),
    run(svc, "contracts", "create", "--help"),
    run(svc, "router", "clusters"),
    run(svc, "contracts", "status", "T-1"),
    run(svc, "router", "show-email", "ada@northwind.example"),
  ]);
  figure("svc --version, against node -e 0", median(version) / median(bare), "<= 1.2");
  figure("svc contracts create --help, against node -e 0", median(help) / median(bare), "<= 1.7");
  for (const [i, words] of ["router clusters", "contracts status T-1", "router show-email"].entries()) {
    figure(`svc ${words}, against node -e 0`, median(requests[i]!) / median(bare), "<= 2.6");
  }
  const [least = 1, ...others] = cpu.values();
  note(
    `by CPU time, which a busy machine hardly moves: ${others.map((ticks) => (ticks / least).toFixed(2)).join(", ")}`,
  );
  note(`node -e 0 took ${Math.round(median(bare))} ms`);
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
