// Runs a command line twice in this process: once normally, and once when no further file can be opened.
import { execFileSync } from "node:child_process";
import { openSync, readdirSync } from "node:fs";
import { createProcessHost, main } from "../../../src/cli/main.ts";

const argv = process.argv.slice(2);
const run = () => main(argv, createProcessHost());
await run();
const open = readdirSync("/proc/self/fd").map(Number);
execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${Math.max(...open)}`]);
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // No file descriptor is left.
}
process.exitCode = await run();
