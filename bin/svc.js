#!/usr/bin/env node
// CommonJS (see package.json in this folder), because Node takes milliseconds to load its ES module loader.
const { writeSync } = require("node:fs");

const argv = process.argv.slice(2);

if (!(argv.length === 1 && ["--version", "-V", "-v", "version"].includes(argv[0]) && isVersionWritten())) {
  // The first thing of the bundle that older versions lack.
  if (!process.getBuiltinModule) {
    writeSync(2, `error: svc requires Node.js 20.19 or later, and runs on ${process.version}.\n`);
    process.exit(1);
  }
  // Node 22.8 and later cache compiled code.
  require("node:module").enableCompileCache?.();
  const { main, createProcessHost } = require("../dist/main.cjs");
  // Emitted when no work is left. Node prints exceptions itself.
  process.once("beforeExit", () => {
    if (process.exitCode === undefined) {
      writeSync(
        2,
        "error: svc ended before its work was done. This is a bug: run it again with --debug and report it.\n",
      );
    }
    // Exits immediately, because freeing the heap takes milliseconds.
    process.exit(process.exitCode ?? 1);
  });
  // The exit code is set without process.exit, which would cut off output that a pipe has not accepted yet.
  main(argv, createProcessHost()).then((code) => {
    process.exitCode = code;
  });
}

/**
 * Writes the version without process.stdout, which costs an eighth of Node's start. Returns false if the pipe is full
 * or closed, or the disk is full. `main` then reports the error.
 */
function isVersionWritten() {
  try {
    writeSync(1, `${require("../package.json").version}\n`);
    return true;
  } catch {
    return false;
  }
}
