#!/usr/bin/env node
// CommonJS, as package.json beside it says: Node takes milliseconds to get its loader of ES modules ready.
const { writeSync } = require("node:fs");

const argv = process.argv.slice(2);

if (!(argv.length === 1 && ["--version", "-V", "-v", "version"].includes(argv[0]) && isVersionWritten())) {
  const { main, processHost, version } = require("../dist/start.cjs").commandLine();
  process.once("exit", () => {
    // As Node says it of a module that waits for what cannot come any more.
    process.exitCode ??= 13;
    // Nothing is left to do: it only spares the taking apart of a heap that is thrown away as a whole.
    process.exit();
  });
  // Never before: it would cut off what a pipe has not taken yet.
  main(argv, processHost(version)).then((code) => {
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
