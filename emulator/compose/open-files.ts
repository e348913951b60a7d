import { open } from "node:fs/promises";
import { devNull } from "node:os";
import type { Wall } from "../../src/base/clock.ts";
import { openFilesRemedies } from "../../src/files/refusals.ts";

const everyMs = 2_000;

/**
 * Says when this process may open no more files: Node then ends connections as they come, and tells nobody. Returns the function
 * that ends it.
 */
export function watchOpenFiles(wall: Wall, log: (line: string) => void): () => Promise<void> {
  const ended = new AbortController();
  let isTold = false;

  async function look(): Promise<void> {
    try {
      await (await open(devNull)).close();
      isTold = false;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      const remedy = openFilesRemedies[code as keyof typeof openFilesRemedies];
      if (remedy === undefined || isTold) return;
      isTold = true;
      log(`too many files and connections are open (${code}): requests that come now get no answer. ${remedy}`);
    }
  }

  async function watch(): Promise<void> {
    while (!ended.signal.aborted) {
      await wall.sleep(everyMs, ended.signal);
      await look();
    }
  }

  const watching = watch();
  return () => {
    ended.abort();
    return watching;
  };
}
