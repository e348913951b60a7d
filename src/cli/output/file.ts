import { constants, createWriteStream, type Stats } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { realTarget } from "../../files/real-path.ts";
import { isRefusal, type Refusal, whyOf } from "../../files/refusals.ts";
import { writeWhole } from "../../files/whole-file.ts";
import { CommandFailed, UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import { remedyOf } from "../remedies.ts";

/** Refuses, before anything is sent, to show a person bytes; `--output -` has them all the same. Throws UsageError. */
export function refuseBytesOnTerminal({ stdout }: Host, output: string | undefined): void {
  if (output !== undefined || stdout.isTTY !== true) return;
  throw new UsageError("--output required: the answer is bytes, not text for a terminal", {
    hint: "--output FILE keeps them; --output - writes them here all the same.",
  });
}

/**
 * Looks, before anything is sent, whether a file can be written there: an answer that cannot be kept may not come a
 * second time. Gives its absolute path. Throws UsageError.
 */
export async function checkedOutput({ cwd }: Host, path: string, flag: string): Promise<string> {
  const absolute = resolve(cwd, path);
  const found = await existing(absolute);
  if (found?.isDirectory()) throw new UsageError(`${flag}: ${path} is a folder, not a file`);
  // With a slash at its end only a folder will do.
  await access(found ? absolute : `${dirname(absolute)}${sep}`, constants.W_OK).catch(
    (cause: NodeJS.ErrnoException) => {
      const why = isRefusal(cause) ? whyOf(cause) : cause.code;
      throw new UsageError(`${flag}: cannot write ${path}: ${why}`, { cause });
    },
  );
  return absolute;
}

/**
 * Writes a file whole or not at all: until all of the content has come, the one that was there before stays. Pipes and
 * devices are written to as they are.
 */
export async function writeOutput(
  host: Host,
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode = 0o666,
): Promise<void> {
  const given = resolve(host.cwd, path);
  const found = await existing(given);
  try {
    if (found && !found.isFile()) return await pipeline(content, createWriteStream(given));
    // A link stays a link, and a file keeps its permissions.
    const target = await realTarget(given);
    await writeWhole(target, content, found ? { mode: found.mode & 0o7777, exactMode: true } : { mode });
  } catch (error) {
    throw isRefusal(error) ? unwritten(path, error) : error;
  }
}

const existing = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

const unwritten = (path: string, cause: Refusal): CommandFailed =>
  new CommandFailed("failed", "unwritable", `Failed to write ${path}: ${whyOf(cause)}.`, {
    hint: `Nothing is left of it. ${remedyOf(cause)}`,
    cause,
  });
