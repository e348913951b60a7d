import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { RequestLog } from "../emulator/http/request-log/request-log.ts";
import { returnedFailuresFile } from "./structure/completeness.ts";

/**
 * Records which failures the operations and services of this process's emulators return, each once. `test/run.ts`
 * compares the records with the declarations. Each group of tests loads this module.
 */
const recordedLines = new Set<string>();
const folder = process.env.SVC_TEST_COMPILED;

const { add } = RequestLog.prototype;
RequestLog.prototype.add = function (request) {
  const { operation, service, failure } = request;
  if (failure !== undefined) note(`${operation} ${failure}`, `${service} ${failure}`);
  add.call(this, request);
};

function note(...lines: readonly string[]): void {
  const newLines = lines.filter((line) => !recordedLines.has(line));
  if (folder === undefined || newLines.length === 0) return;
  for (const line of newLines) recordedLines.add(line);
  appendFileSync(join(folder, returnedFailuresFile), `${newLines.join("\n")}\n`);
}
