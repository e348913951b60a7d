import { type BigIntStats, constants, createWriteStream, fstat, type Stats } from "node:fs";
import { access, rm, stat } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { InvalidResponseError } from "../../client/errors.ts";
import type { ApiResponse } from "../../client/response.ts";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { formatFsError, formatSystemError, isFsError, readBeginning, systemDisk } from "../../files/disk.ts";
import { resolveRealPath } from "../../files/folders.ts";
import { CommandFailedError, getRemedy, UsageError } from "../process/failure.ts";
import { type Host, type OutputStream, waitForFlush, write } from "../process/host.ts";

/** Rejects binary output on a terminal before anything is sent, unless `--output -` is given. Throws UsageError. */
export function rejectBytesOnTerminal({ stdout }: Host, output: string | undefined): void {
  if (output !== undefined || stdout.isTTY !== true) return;
  throw new UsageError("--output is required: the response is binary", {
    hint: "Use --output FILE to save it, or --output - to print it here.",
  });
}

interface ProtectedFiles {
  /** Other files of the command line (`-` for standard input), so that output does not replace an input. */
  readonly inputs?: readonly (string | undefined)[];
  /**
   * Reports whether the same flag wrote a file with this beginning, so that it can be replaced. If omitted, any file is
   * replaced, as for a response (DECISIONS.md, L24).
   */
  readonly isOurs?: (beginning: string) => boolean;
}

/**
 * Returns the absolute path of a writable file. Throws UsageError. A request cannot always be repeated if the response
 * cannot be stored, so the file is checked before it.
 */
export async function checkOutputFile(host: Host, path: string, flag: string, protectedFiles: ProtectedFiles = {}) {
  if (path === "") throw new UsageError(`${flag} must not be empty`);
  if (path === "-") throw new UsageError(`${flag} must be a file, got "-"`);
  const absolute = resolve(host.cwd, path);
  const stats = await findStats(absolute);
  if (stats?.isDirectory()) throw new UsageError(`${flag}: ${path} is a folder, not a file`);
  await access(stats ? absolute : `${dirname(absolute)}${sep}`, constants.W_OK).catch(
    (cause: NodeJS.ErrnoException) => {
      const subject = stats ? path : `to the folder ${dirname(path)}`;
      const [reason, hint] = isFsError(cause) ? [formatFsError(cause), getRemedy(cause)] : [cause.code];
      throw new UsageError(`${flag}: cannot write ${subject}: ${reason}`, { hint, cause });
    },
  );
  const isOpen = (await findOpenStream(host, absolute)) !== undefined;
  if (stats?.isSocket() && !isOpen) throw new UsageError(`${flag}: ${path} is a socket, not a file`);
  if (stats?.isFile())
    await rejectDataLoss(host, path, flag, isOpen ? { ...protectedFiles, isOurs: undefined } : protectedFiles);
  return absolute;
}

/** Removes the report of an earlier run, so that it cannot be mistaken for that of an interrupted run. */
export async function removeEarlierReport(host: Host, absolute: string): Promise<void> {
  if ((await findOpenStream(host, absolute)) !== undefined) return;
  if ((await findStats(absolute))?.isFile()) await rm(await resolveRealPath(absolute));
}

/**
 * Returns the output of this process that a path names, such as /dev/stdout. A socket cannot be opened by its path, and
 * a file must not be replaced under its other output.
 */
export async function findOpenStream(host: Host, path: string): Promise<OutputStream | undefined> {
  const identity = await getIdentity(host, path);
  if (identity === undefined) return undefined;
  for (const stream of [host.stdout, host.stderr]) {
    if ((await getStreamIdentity(stream)) === identity) return stream;
  }
  return undefined;
}

async function rejectDataLoss(host: Host, path: string, flag: string, { inputs = [], isOurs }: ProtectedFiles) {
  const identity = await getIdentity(host, path);
  for (const input of inputs) {
    if (input === undefined || (await getIdentity(host, input)) !== identity) continue;
    throw new UsageError(`${flag} must not be the input file ${path}`, { hint: "Choose another file." });
  }
  const beginning = isOurs && (await readBeginning(systemDisk, resolve(host.cwd, path), 1_024).catch(() => ""));
  if (!beginning || isOurs(beginning)) return;
  throw new UsageError(`${flag}: ${path} exists and was not written by this option`, {
    hint: "Choose a file that does not exist.",
  });
}

/** Returns an identity that all names of a file share, including links. Returns undefined if there is no file. */
const getIdentity = ({ cwd, stdin }: Host, path: string): Promise<string | undefined> =>
  path === "-" ? getStreamIdentity(stdin) : formatIdentity(stat(resolve(cwd, path), { bigint: true }));

async function getStreamIdentity(stream: object): Promise<string | undefined> {
  const { fd } = stream as { readonly fd?: number };
  return fd === undefined ? undefined : formatIdentity(promisify(fstat)(fd, { bigint: true }));
}

/** Returns undefined for a file that cannot be inspected, which is neither an input nor open. */
const formatIdentity = (inspection: Promise<BigIntStats>): Promise<string | undefined> =>
  inspection.then(({ dev, ino }) => `${dev}:${ino}`).catch(() => undefined);

/** The previous file stays until the content is complete. Pipes, devices and open streams are written directly. */
export async function writeOutput(
  host: Host,
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode = 0o666,
): Promise<void> {
  const absolute = resolve(host.cwd, path);
  const stats = await findStats(absolute);
  const stream = await findOpenStream(host, absolute);
  if (stream) return writeToStream(stream, path, content);
  try {
    if (stats && !stats.isFile()) return await pipeline(content, createWriteStream(absolute));
    // Links stay links, and files keep their permissions.
    const target = await resolveRealPath(absolute);
    await writeFileAtomic(target, content, stats ? { mode: stats.mode & 0o7777, exactMode: true } : { mode });
  } catch (error) {
    if (!isFsError(error)) throw error;
    const message = `Failed to write ${path}: ${formatFsError(error)}.`;
    const hint = `No partial file is left. ${getRemedy(error)}`;
    throw new CommandFailedError("failed", "unwritable", message, { hint, cause: error });
  }
}

/** Writes to an open stream of this process. Such a stream forgets its errors. */
async function writeToStream(
  stream: OutputStream,
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  let cause: NodeJS.ErrnoException | undefined;
  const onError = (error: NodeJS.ErrnoException) => {
    cause ??= error;
  };
  stream.on("error", onError);
  try {
    for await (const chunk of content) await write(stream, chunk);
    await waitForFlush(stream);
  } finally {
    stream.off("error", onError);
  }
  const message = cause && `Failed to write ${path}: ${formatSystemError(cause)}.`;
  if (message !== undefined) throw new CommandFailedError("failed", "unwritable", message, { cause });
}

const findStats = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** Throws InvalidResponseError for a partial document, or for an empty one unless it is allowed. */
export function getDocumentBytes(
  { status, value }: Pick<ApiResponse, "status" | "value">,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): AsyncIterable<Uint8Array> {
  if (status === 206) throw new InvalidResponseError(status, "The service responded 206 with a part of the document.");
  const bytes = value as AsyncIterable<Uint8Array>;
  return mayBeEmpty && status !== 204 && status !== 205 ? bytes : requireContent(bytes, status);
}

async function* requireContent(bytes: AsyncIterable<Uint8Array>, status: number): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const chunk of bytes) {
    isEmpty &&= chunk.byteLength === 0;
    yield chunk;
  }
  if (isEmpty) throw createEmptyResponseError("a document", status);
}

export const createEmptyResponseError = (content: string, status: number): InvalidResponseError =>
  new InvalidResponseError(status, `Expected ${content}, but the service responded ${status} with an empty body.`);
