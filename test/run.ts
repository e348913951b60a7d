/**
 * Runs the tests below the folders that are named (`npm test -- emulator/store`), by default all but the slow ones.
 * Node 20 takes no patterns, and shells differ in theirs, so the files are found here.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const slow = new Set(["bench", "packaged"]);

const folders = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const options = process.argv.slice(2).filter((word) => word.startsWith("-"));
const everything = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !slow.has(entry.name))
  .map(({ name }) => name);

const files = (folders.length > 0 ? folders : everything)
  .flatMap((folder) =>
    readdirSync(join(here, folder), { recursive: true }).map((path) => join(here, folder, String(path))),
  )
  // What stands below `examples` is run by the test that it is an example for, with the runner that it is written for.
  .filter((path) => path.endsWith(".test.ts") && !path.includes(`${sep}examples${sep}`))
  .sort();
if (files.length === 0) throw new Error(`No test below ${folders.join(", ")}`);

const run = spawn(process.execPath, ["--import", "tsx", "--test", ...options, ...files], { stdio: "inherit" });
run.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
