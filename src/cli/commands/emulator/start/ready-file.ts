import { readFile, rm, stat } from "node:fs/promises";
import { fieldsOf } from "../../../../base/object.ts";
import type { Context } from "../../../command.ts";
import { checkOutputFile, createForeignFileError, writeOutput } from "../../../output/file.ts";

/** The file that says by being there that an emulator is up. Anything but a file, such as a pipe, is only written to. */
export interface ReadyFile {
  /** Absolute. */
  readonly path: string;
  tell(ready: object): Promise<void>;
  /** Removes what was told, unless somebody has written something else meanwhile. */
  remove(): Promise<void>;
}

/**
 * Looks whether the file can be written, and removes what an emulator before this one has left in it: whoever waits for
 * it waits for this one. Throws a UsageError over a file that holds something else.
 */
export async function prepareReadyFile(path: string, { host }: Pick<Context, "host">): Promise<ReadyFile> {
  const absolute = await checkOutputFile(host, path, "--ready-file");
  const before = await contentOf(absolute);
  if (before !== undefined && before.trim() !== "" && !isReadyLine(before)) {
    throw createForeignFileError(path, "--ready-file");
  }
  if (before !== undefined && isReadyLine(before)) await rm(absolute, { force: true });
  let told: string | undefined;
  return {
    path: absolute,
    async tell(ready) {
      told = `${JSON.stringify(ready)}\n`;
      await writeOutput(host, path, [Buffer.from(told)], 0o600);
    },
    async remove() {
      if (told !== undefined && (await contentOf(absolute)) === told) await rm(absolute, { force: true });
    },
  };
}

/** Of a file alone: reading a pipe would take away what others wait for. */
async function contentOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? readFile(path, "utf8").catch(() => undefined) : undefined;
}

function isReadyLine(text: string): boolean {
  try {
    return fieldsOf(JSON.parse(text)).event === "ready";
  } catch {
    return false;
  }
}
