import { open } from "node:fs/promises";
import { devNull } from "node:os";
import type { Wall } from "../../src/base/clock.ts";
import { regularly } from "../../src/base/regularly.ts";
import { openFilesRemedies } from "../../src/files/refusals.ts";

const everyMs = 2_000;

/**
 * Says when this process may open no more files: Node then ends connections as they come, and tells nobody. Returns the
 * function that ends it.
 */
export function watchOpenFiles(wall: Wall, log: (line: string) => void): () => Promise<void> {
  let isTold = false;
  return regularly(wall, everyMs, async () => {
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
  });
}
