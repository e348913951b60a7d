#!/usr/bin/env node
// CommonJS, as package.json beside it says: Node takes milliseconds to get its loader of ES modules ready.
const { writeSync } = require("node:fs");

const argv = process.argv.slice(2);

if (!(argv.length === 1 && ["--version", "-V", "-v", "version"].includes(argv[0]) && isVersionWritten())) {
  // Node 22.8 and later store what V8 has compiled.
  require("node:module").enableCompileCache?.();
  const { main, createProcessHost, version } = require("../dist/main.cjs");
  // Comes once nothing is left to do, and not after an exception, which Node prints.
  process.once("beforeExit", () => {
    if (process.exitCode === undefined) {
      writeSync(
        2,
        "error: svc ended before its work was done. This is a bug: run it again with --debug and report it.\n",
      );
    }
    // At once: to take the heap apart, which is thrown away as a whole, takes milliseconds.
    process.exit(process.exitCode ?? 1);
  });
  // Never before: it would cut off what a pipe has not taken yet.
  main(argv, createProcessHost(version)).then((code) => {
    process.exitCode = code;
  });
}

/**
 * Writes it at once, without the stream that process.stdout would make: that costs an eighth of what Node costs to start.
 * False where the pipe is full, nobody reads it or the disk refuses: `main` knows what to say then.
 */
function isVersionWritten() {
  try {
    writeSync(1, `${require("../package.json").version}\n`);
    return true;
  } catch {
    return false;
  }
}
