import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { CheckedCall } from "../../client/checked-call.ts";
import type { Context } from "../command.ts";
import { PartialFailure, UsageError } from "../failure.ts";
import { existingFile } from "../parse/body.ts";

/** An upload that is done. */
export interface Uploaded {
  readonly file_id: string;
  readonly filename: string;
  readonly path: string;
  readonly bytes: number;
  readonly content_type: string;
}

/** One call initializes at most so many (DECISIONS.md, C6). */
const filesPerCall = 50;

interface Candidate {
  readonly path: string;
  readonly absolute: string;
  readonly filename: string;
  readonly bytes: number;
  readonly contentType: string;
}

/** Looks at every file before the first call. Throws UsageError for what cannot be uploaded. */
export async function candidates(context: Context, paths: readonly string[], flag: string, contentType?: string) {
  const found: Candidate[] = [];
  const { lookup } = await import("./media-types.ts");
  for (const path of paths) {
    if (path === "-") throw new UsageError(`${flag}: an upload needs a name and a size; name a file, not -`);
    const absolute = await existingFile(context.host, path, flag);
    const { size } = await stat(absolute);
    if (size === 0) throw new UsageError(`${flag}: ${path} is empty`);
    found.push({
      path,
      absolute,
      filename: basename(path),
      bytes: size,
      contentType: contentType ?? (lookup(basename(path)) || "application/octet-stream"),
    });
  }
  return found;
}

/** What must be known of uploads when something fails after them. */
export const uploadedBefore = (done: readonly Uploaded[]): string[] =>
  done.map(({ path, file_id: id }) => `${path} is uploaded: ${id}`);

/** Initializes, then PUTs the bytes of each file to its signed URL, streaming. In the order given. */
export async function upload(context: Context, files: readonly Candidate[]): Promise<Uploaded[]> {
  const done: Uploaded[] = [];
  try {
    for await (const one of uploads(context, files)) done.push(one);
    return done;
  } catch (error) {
    throw done.length === 0 ? error : new PartialFailure(error, uploadedBefore(done));
  }
}

async function* uploads(context: Context, files: readonly Candidate[]): AsyncGenerator<Uploaded> {
  const [{ initializeUploads }, { putObject }] = await Promise.all([
    import("../../api/contracts/files.ts"),
    import("../../api/storage/objects.ts"),
  ]);
  const client = await context.client("contracts");
  for (let from = 0; from < files.length; from += filesPerCall) {
    const part = files.slice(from, from + filesPerCall);
    const { files: slots } = await client.call(
      initializeUploads,
      { body: { files: part.map(({ filename, contentType }) => ({ filename, content_type: contentType })) } },
      { signal: context.signal },
    );
    for (const [i, { absolute, path, bytes, contentType }] of part.entries()) {
      const slot = slots[i]!;
      const open = () => createReadStream(absolute);
      await client.send(CheckedCall.of(putObject, { body: open }), {
        url: slot.upload_url,
        contentType,
        contentLength: bytes,
        signal: context.signal,
      });
      yield { file_id: slot.file_id, filename: slot.filename, path, bytes, content_type: contentType };
    }
  }
}
