import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundled } from "./support/bundled.ts";
import { figure, inTurns, median, note, ratios } from "./support/measure.ts";
import { Parties } from "./support/processes.ts";

/** How long the command line takes from start to end, against a process of Node's that does nothing. */
const { folder, remove } = await bundled();
const home = await mkdtemp(join(tmpdir(), "svc-bench-"));
try {
  await using parties = new Parties();
  const { url, clusters } = (await parties.emulator({ ephemeral: true })).ready;
  const { clientId = "", clientSecret = "" } = clusters[0]!;
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    SVC_CONFIG_DIR: home,
    SVC_BASE_URL: url,
    SVC_CLIENT_ID: clientId,
    SVC_CLIENT_SECRET: clientSecret,
  };
  const run =
    (...args: string[]) =>
    () => {
      const begin = performance.now();
      const { status, stderr } = spawnSync(process.execPath, args, { env });
      if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
      return performance.now() - begin;
    };
  const svc = join(folder, "bin", "svc.js");
  const [bare, version, help, request] = await inTurns(15, [
    run("-e", "0"),
    run(svc, "--version"),
    run(svc, "contracts", "create", "--help"),
    run(svc, "contracts", "list"),
  ]);
  figure("svc --version, against node -e 0", ratios(version, bare), "<= 1.2");
  figure("svc contracts create --help, against node -e 0", ratios(help, bare), "<= 1.4");
  figure("one request, against node -e 0", ratios(request, bare), "<= 2.3");
  note(`node -e 0 took ${Math.round(median(bare))} ms`);
} finally {
  await remove();
  await rm(home, { recursive: true });
}
