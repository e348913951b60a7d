import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bundled } from "./support/bundled.ts";
import { figure, median } from "./support/measure.ts";

/** How long `svc run` takes for the ten files of fixtures/scenarios, on the wall and of the processor. */
const { folder, remove } = await bundled();
try {
  const scenarios = join(import.meta.dirname, "../../fixtures/scenarios");
  const files = readdirSync(scenarios);
  const seconds = Array.from({ length: 5 }, () => {
    const begin = performance.now();
    const args = [join(folder, "bin", "svc.js"), "run", ...files];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: scenarios, encoding: "utf8" });
    if (status !== 0) throw new Error(`svc run: ${stdout}${stderr}`);
    return (performance.now() - begin) / 1_000;
  });
  figure(`${files.length} scenarios, seconds`, median(seconds), "<= 3");
} finally {
  await remove();
}
