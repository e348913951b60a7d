import { watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { pluralize } from "../../../base/text.ts";
import type { Context } from "../../command.ts";
import { UsageError } from "../../process/failure.ts";
import { type RunFilesOptions, runFiles } from "./runner.ts";

/** Delay after a change, because editors write a file in several steps. */
const minQuietMs = 50;

/** Runs the files, and repeats the run after each change until it is interrupted. */
export async function watchFiles(
  files: readonly string[],
  settings: RunFilesOptions,
  context: Context,
): Promise<undefined> {
  const { host, output, signal } = context;
  const changes = watchForChanges(files.map((file) => resolve(host.cwd, file)));
  context.onEnd(async () => changes.close());
  while (true) {
    const seen = changes.count();
    try {
      await runFiles(files, settings, context);
    } catch (error) {
      // The user is probably still editing an invalid file.
      if (!(error instanceof UsageError)) throw error;
      await output.warn(`error: ${error.message}`);
    }
    await output.note(`Watching ${pluralize(files.length, "file")} (press Ctrl-C to stop)`);
    await changes.after(settings.update ? changes.count() : seen, signal);
    await host.wall.sleep(minQuietMs, signal);
    signal.throwIfAborted();
  }
}

/** Watches the folders of files, because an editor can replace a file. */
function watchForChanges(paths: readonly string[]) {
  let count = 0;
  let wake = () => {};
  const folders = [...new Set(paths.map(dirname))];
  const watchers = folders.map((folder) =>
    watch(folder, (_, name) => {
      if (name !== null && !paths.some((path) => dirname(path) === folder && basename(path) === name)) return;
      count += 1;
      wake();
    }),
  );
  return {
    count: () => count,
    /** Resolves after a new change, or when the signal is aborted. */
    async after(number: number, signal: AbortSignal): Promise<void> {
      while (count <= number && !signal.aborted) {
        await new Promise<void>((done) => {
          wake = done;
          signal.addEventListener("abort", () => done(), { once: true });
        });
      }
    },
    close(): void {
      for (const watcher of watchers) watcher.close();
    },
  };
}
