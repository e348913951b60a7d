import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bundled } from "./support/bundled.ts";
import { figure, inTurns, median, ratios } from "./support/measure.ts";

/** `svc run` of the ten files of fixtures/scenarios, against one of them alone: both processes, start of Node included. */
const { folder, remove } = await bundled();
try {
  const scenarios = join(import.meta.dirname, "../../fixtures/scenarios");
  const files = readdirSync(scenarios);
  const run = (names: readonly string[]) => () => {
    const begin = performance.now();
    const args = [join(folder, "bin", "svc.js"), "run", ...names];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: scenarios, encoding: "utf8" });
    if (status !== 0) throw new Error(`svc run: ${stdout}${stderr}`);
    return performance.now() - begin;
  };
  const [allMs, oneMs] = await inTurns(5, [run(files), run(["tour.yaml"])]);
  figure(`${files.length} scenarios, against the tour alone`, ratios(allMs, oneMs), "<= 2.5");
  figure(`${files.length} scenarios, seconds`, median(allMs) / 1_000, "<= 3");
} finally {
  await remove();
}
