import type { TestEvent } from "node:test/reporters";
import { partlyInSources } from "./in-sources.ts";

/**
 * A reporter of Node's runner: the file of each test that failed, a line each, once. Where a process ended before its
 * tests did, that is the compiled file that it ran.
 */
// biome-ignore lint/style/noDefaultExport: the runner asks for it.
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== "test:fail") continue;
    const { failureType } = data.details.error as Error & { failureType?: string };
    // Of a suite, and of a file: one of its tests has been told.
    if (failureType === "subtestsFailed") continue;
    const file = partlyInSources(data).file ?? data.file ?? data.name;
    if (told.has(file)) continue;
    told.add(file);
    yield `${file}\n`;
  }
}
