#!/usr/bin/env node
// Asked for by name: an import would load all that the module offers.
const { readFileSync } = process.getBuiltinModule("node:fs");

const argv = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

if (argv.length === 1 && ["--version", "-V", "-v", "version"].includes(argv[0])) {
  process.stdout.write(`${version}\n`);
} else {
  // Node 22.8 and later keep what they have compiled, where they find a place for it.
  process.getBuiltinModule("node:module").enableCompileCache?.();
  const { main, processHost } = await import("../dist/main.js");
  // Never process.exit: it would cut off what a pipe has not taken yet.
  process.exitCode = await main(argv, processHost(version));
}
