import { createHash, randomBytes } from "node:crypto";
import { readFile, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pluralize } from "../../../base/text.ts";
import { createFileAtomic } from "../../../files/atomic-write.ts";
import { makeFolder } from "../../../files/folders.ts";
import { CorpusError, indexFileName } from "../../../verify/corpus.ts";
import { ExchangeRecorder } from "../../../verify/recorder.ts";
import type { Context } from "../../command.ts";
import { getStateFolder } from "../../process/environment.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/**
 * Returns the path of the stand-in key. The key is stored outside the corpus while a recording is open. Continued
 * recordings and saved webhooks therefore use the same stand-ins. The key is removed at the end of the recording.
 */
function resolveKeyPath({ env }: Host, folder: string): string {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  return join(getStateFolder(env), "verify", `${name}.key`);
}

/** Starts the corpus of --out, or continues an interrupted corpus. Throws UsageError if the corpus is invalid. */
export async function openRecording({ host, output }: Pick<Context, "host" | "output">, folderName: string) {
  const folder = resolve(host.cwd, folderName);
  const path = resolveKeyPath(host, folder);
  try {
    await makeFolder(join(path, ".."));
    await createFileAtomic(path, randomBytes(32).toString("hex"), { mode: 0o600 });
    const key = Buffer.from(await readFile(path, "utf8"), "hex");
    const recorder = await ExchangeRecorder.open(folder, key);
    const continued = recorder.count;
    if (continued > 0) await output.note(`Continuing a corpus of ${pluralize(continued, "exchange")}`);
    return {
      recorder,
      /** Number of exchanges of an interrupted recording. */
      continued,
      /** Completes the corpus. No exchange can be added afterwards. */
      async end() {
        await recorder.close();
        await rm(path, { force: true });
      },
    };
  } catch (cause) {
    throw toUsageError(cause, "--out");
  }
}

/** Opens the corpus that svc verify proxy records in a folder, to add webhooks to it, or returns undefined. */
export async function joinRecording({ host }: Pick<Context, "host">, folder: string) {
  if (!(await stat(join(folder, indexFileName)).catch(() => undefined))) return undefined;
  const key = await readFile(resolveKeyPath(host, folder), "utf8").catch(() => undefined);
  if (key === undefined)
    throw new UsageError(`--save: ${folder} contains a corpus that is not being recorded`, {
      hint: "Start svc verify proxy with this folder first, or choose another one.",
    });
  return ExchangeRecorder.open(folder, Buffer.from(key, "hex"), true).catch((cause: unknown) => {
    throw toUsageError(cause, "--save");
  });
}

/** Converts a corpus error to a usage error, because no request was sent. */
export const toUsageError = (cause: unknown, name: string): unknown =>
  cause instanceof CorpusError ? new UsageError(`${name}: ${cause.message}`, { cause }) : cause;
