#!/usr/bin/env node
import { readFileSync } from "node:fs";

const argv = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
  process.stdout.write(`${version}\n`);
} else {
  const { main, processHost } = await import("../dist/main.js");
  // Never process.exit: it would cut off what a pipe has not taken yet.
  process.exitCode = await main(argv, processHost(version));
}
