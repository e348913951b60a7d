import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import type { initializeUploads } from "../../api/contracts/files.ts";
import type { ResultOf } from "../../api/operation.ts";
import { pluralize } from "../../base/text.ts";
import { CheckedCall } from "../../client/checked-call.ts";
import { ServiceError } from "../../client/errors.ts";
import type { Context } from "../command.ts";
import { readInput, requireFile } from "../parse/body.ts";
import { CommandFailedError, PartialFailureError, UsageError } from "../process/failure.ts";

interface UploadedFile {
  readonly file_id: string;
  readonly filename: string;
  readonly path: string;
  readonly bytes: number;
  readonly content_type: string;
}

/** Maximum number of files in one request (DECISIONS.md, C6). */
const maxFilesPerRequest = 50;

interface UploadCandidate {
  readonly path: string;
  readonly filename: string;
  readonly bytes: number;
  readonly contentType: string;
  /** Yields the bytes from the beginning for each attempt. */
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly checkUnchanged: () => Promise<void>;
}

interface CandidateOptions {
  readonly contentType?: string | undefined;
  readonly filename?: string | undefined;
  readonly acceptsStdin?: boolean;
}

/** Checks every file before the first request. Throws UsageError for files that cannot be uploaded. */
export async function findUploadCandidates(
  context: Context,
  paths: readonly string[],
  flag: string,
  { contentType, filename, acceptsStdin = false }: CandidateOptions = {},
): Promise<UploadCandidate[]> {
  const candidates: UploadCandidate[] = [];
  const { default: mediaTypes } = await import("mime-types");
  for (const path of paths) {
    if (path === "-" && !acceptsStdin) throw new UsageError(`${flag} must be a file, got "-"`);
    const name = filename ?? (path === "-" ? "stdin" : basename(path));
    candidates.push({
      path,
      filename: name,
      contentType: contentType ?? (mediaTypes.lookup(name) || "application/octet-stream"),
      ...(path === "-" ? await bufferInput(context, path, flag) : await openFile(context, path, flag)),
    });
  }
  return candidates;
}

type Content = Pick<UploadCandidate, "bytes" | "open" | "checkUnchanged">;

/** A signed URL accepts no body of unknown length, so a pipe is read first. */
async function bufferInput({ host }: Context, path: string, flag: string): Promise<Content> {
  const content = await readInput(host, path, flag);
  return { bytes: content.length, open: () => Readable.from([content]), checkUnchanged: async () => {} };
}

async function openFile(context: Context, path: string, flag: string): Promise<Content> {
  const absolute = await requireFile(context.host, path, flag);
  const stats = await stat(absolute);
  if (stats.isCharacterDevice() || stats.isBlockDevice()) {
    throw new UsageError(`${flag}: ${path} is a device, not a file`);
  }
  const { size, mtimeMs } = stats;
  // A pipe reports no size, and files that the system generates report 0.
  if (!stats.isFile() || size === 0) return bufferInput(context, path, flag);
  const createFileChangedError = () =>
    new CommandFailedError("failed", "file_changed", `${path} changed while it was uploaded.`, {
      hint: "Upload it again when no program writes to it.",
    });
  return {
    bytes: size,
    async *open() {
      let byteCount = 0;
      for await (const chunk of createReadStream(absolute) as AsyncIterable<Uint8Array>) {
        byteCount += chunk.length;
        if (byteCount > size) throw createFileChangedError();
        yield chunk;
      }
      if (byteCount < size) throw createFileChangedError();
    },
    async checkUnchanged() {
      const now = await stat(absolute);
      if (now.size !== size || now.mtimeMs !== mtimeMs) throw createFileChangedError();
    },
  };
}

export const describeCompletedUploads = (uploads: readonly UploadedFile[]): string[] =>
  uploads.map(({ path, file_id: id }) => `${path} is uploaded: ${id}`);

/** Uploads the files one by one, in order. Throws PartialFailureError if some are uploaded before a failure. */
export async function uploadFiles(context: Context, files: readonly UploadCandidate[]): Promise<UploadedFile[]> {
  const uploads: UploadedFile[] = [];
  try {
    for await (const upload of uploadEach(context, files)) uploads.push(upload);
    return uploads;
  } catch (error) {
    throw uploads.length === 0 ? error : new PartialFailureError(error, describeCompletedUploads(uploads));
  }
}

async function* uploadEach(context: Context, files: readonly UploadCandidate[]): AsyncGenerator<UploadedFile> {
  const [{ initializeUploads }, { putObject }] = await Promise.all([
    import("../../api/contracts/files.ts"),
    import("../../api/storage/objects.ts"),
  ]);
  const client = await context.client("contracts");
  const initialize = async (part: readonly UploadCandidate[]) => {
    const filenames = part.map(({ filename, contentType }) => ({ filename, content_type: contentType }));
    const { files: slots } = await client.call(initializeUploads, { body: { files: filenames } });
    return matchSlots(part, slots);
  };
  const putFile = async ({ open, bytes, contentType }: UploadCandidate, url: string) => {
    const body = bytes === 0 ? new Uint8Array() : open;
    await client.send(CheckedCall.check(putObject, { body }), { url, contentType, contentLength: bytes });
  };
  for (let from = 0; from < files.length; from += maxFilesPerRequest) {
    const part = files.slice(from, from + maxFilesPerRequest);
    const slots = await initialize(part);
    for (const file of part) {
      let slot = slots.get(file)!;
      try {
        await putFile(file, slot.upload_url);
      } catch (error) {
        if (!isExpired(error)) throw error;
        slot = (await initialize([file])).get(file)!;
        await putFile(file, slot.upload_url);
      }
      await file.checkUnchanged();
      const { path, bytes, contentType } = file;
      yield { file_id: slot.file_id, filename: slot.filename, path, bytes, content_type: contentType };
    }
  }
}

type Slot = ResultOf<typeof initializeUploads>["files"][number];

/**
 * Matches signed URLs to files by name, and files with equal names by order. A name that the service has changed goes
 * to the first file whose own name is missing.
 */
function matchSlots(files: readonly UploadCandidate[], slots: readonly Slot[]): ReadonlyMap<UploadCandidate, Slot> {
  const freeSlots = [...slots];
  const matchedSlots = new Map<UploadCandidate, Slot>();
  for (const file of files) {
    const index = freeSlots.findIndex(({ filename }) => filename === file.filename);
    if (index >= 0) matchedSlots.set(file, freeSlots.splice(index, 1)[0]!);
  }
  for (const file of files) {
    const slot = matchedSlots.has(file) ? undefined : freeSlots.shift();
    if (slot) matchedSlots.set(file, slot);
  }
  const unmatchedPaths = files.filter((file) => !matchedSlots.has(file)).map(({ path }) => path);
  if (unmatchedPaths.length === 0) return matchedSlots;
  const counts = `${pluralize(slots.length, "URL")} for ${pluralize(files.length, "file")}`;
  const message = `The service returned ${counts}: none for ${unmatchedPaths.join(", ")}.`;
  throw new CommandFailedError("failed", "no_upload_url", message, {
    hint: "Nothing was uploaded. Upload the files with separate commands.",
  });
}

/** Storage services reject an expired URL with 403 or 400. Only the message gives the reason. */
const isExpired = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.status === 403 || error.status === 400) &&
  /expired/i.test(`${error.problem.code} ${error.problem.message}`);
