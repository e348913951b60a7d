import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { bundlePackage } from "./support/bundled.ts";

/**
 * Runs all benchmarks of this folder or the named ones (`npm run bench -- store http`) and checks their output. A line
 * `what  figure  goal` is a figure, and any other line is a note. `--write` updates the table in README.md. Exits with
 * 1 if a goal is missed.
 */
interface Figure {
  readonly label: string;
  readonly value: string;
  readonly goal: string;
  readonly ok: boolean;
}

const benchFolder = import.meta.dirname;
const page = join(benchFolder, "README.md");
const figureLine = /^(\S.*?) {2,}(-?\d+(?:\.\d+)?) {2}(?:((?:>=|<=|<|at least|about) ?[\d.]+)?( {2}\(.*\))?)\s*$/;

const args = process.argv.slice(2);
const names = readdirSync(benchFolder)
  .filter((name) => name.endsWith(".ts") && name !== "run.ts")
  .map((name) => basename(name, ".ts"));
const fileNames = args.filter((word) => !word.startsWith("-"));
const unknownArgument = args.find((word) => word !== "--write" && !names.includes(word));
if (unknownArgument !== undefined) {
  const kind = unknownArgument.startsWith("-") ? "option" : "benchmark";
  process.stderr.write(`error: unknown ${kind} '${unknownArgument}'\n`);
  process.stderr.write(`Usage: npm run bench -- [--write] [NAME...]\nBenchmarks: ${names.join(", ")}\n`);
  process.exit(2);
}
const files = (fileNames.length === 0 ? names : fileNames).map((name) => `${name}.ts`);

const { folder, remove } = await bundlePackage();
const figures: Figure[] = [];
let failed = false;
try {
  for (const file of files) {
    process.stdout.write(`\n${basename(file, ".ts")}\n`);
    await run(join(benchFolder, file));
  }
} finally {
  await remove();
}
const missedFigures = figures.filter(({ ok }) => !ok);
process.stdout.write(`\n${figures.length} figures, ${missedFigures.length} beside their goal\n`);
for (const { label, value, goal } of missedFigures) process.stdout.write(`  ${label}: ${value}, not ${goal}\n`);
if (args.includes("--write")) writeFileSync(page, replaceTable(readFileSync(page, "utf8")));
if (missedFigures.length > 0 || failed) process.exitCode = 1;

async function run(file: string): Promise<void> {
  const child = spawn(process.execPath, ["--import", "tsx", "--expose-gc", file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_BENCH_BUNDLE: folder },
  });
  const exit = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const [, label, value, goal = ""] = figureLine.exec(line) ?? [];
    if (label === undefined || value === undefined) {
      process.stdout.write(`  ${line}\n`);
      continue;
    }
    const ok = meetsGoal(Number(value), goal);
    figures.push({ label, value, goal, ok });
    process.stdout.write(`  ${ok ? "✓" : "✗"} ${line}\n`);
  }
  const [code] = await exit;
  if (code === 0) return;
  failed = true;
  process.stdout.write(`  ✗ ${basename(file)} ended with ${code}\n`);
}

function meetsGoal(value: number, goal: string): boolean {
  const [, relation, number] = /^(>=|<=|<|at least) ?([\d.]+)/.exec(goal) ?? [];
  if (relation === undefined) return true;
  if (relation === "<") return value < Number(number);
  return relation === "<=" ? value <= Number(number) : value >= Number(number);
}

/** Returns the page with a row for each figure. Rows of benchmarks that did not run are unchanged. */
function replaceTable(text: string): string {
  const [before = "", after = ""] = text.split(/<!-- figures -->[\s\S]*<!-- end -->/);
  // After a run of all benchmarks, a row without a printed figure is obsolete.
  const old = [
    ...(fileNames.length === 0 ? [] : text.matchAll(/^\| (?!what \||---)(.+?) \| (.+?) \| (.*?) \|$/gm)),
  ].map(([row, heading]) => [heading!, row] as const);
  const newRows = figures.map(({ label, value, goal }) => [label, `| ${label} | ${value} | ${goal || "–"} |`] as const);
  const rows = [...new Map([...old, ...newRows]).values()].join("\n");
  return `${before}<!-- figures -->\n| what | measured | goal |\n|---|---|---|\n${rows}\n<!-- end -->${after}`;
}
