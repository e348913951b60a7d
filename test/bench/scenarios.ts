import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bundlePackage } from "./support/bundled.ts";
import { computeMedian, computeRatios, reportFigure, runAlternately } from "./support/measure.ts";

/**
 * Compares `svc run` of the ten files of fixtures/scenarios with a run of one file. Both are processes, including the
 * start of Node.
 */
const { folder, remove } = await bundlePackage();
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
  const [allMs, oneMs] = await runAlternately(5, [run(files), run(["tour.yaml"])]);
  reportFigure(`${files.length} scenarios, against the tour alone`, computeRatios(allMs, oneMs), "<= 2.5");
  reportFigure(`${files.length} scenarios, seconds`, computeMedian(allMs) / 1_000, "<= 3");
} finally {
  await remove();
}
