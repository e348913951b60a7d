import { CheckedCall } from "../../client/checked-call.ts";
import { createSwitch, createTextFlag } from "../../derive/command-spec.ts";
import { type Command, defineCommand } from "../command.ts";
import { findUploadCandidates, uploadFiles } from "../connection/uploads.ts";
import { checkOutputFile, getDocumentBytes, rejectBytesOnTerminal, writeOutput } from "../output/file.ts";
import { UsageError } from "../process/failure.ts";

const filesDownload = defineCommand({
  words: ["files", "download"],
  prints: "content",
  summary: "Download a file from its signed URL",
  positionals: [{ name: "file_id", description: "file_id of the upload" }],
  flags: [createTextFlag("output", "FILE", "Write to this file (default: standard output)", { short: "o" })],
  examples: [["Save the file", "files download 4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10 -o msa.pdf"]],
  async run(input, context) {
    const file = input.flags.output;
    rejectBytesOnTerminal(context.host, file);
    const isFile = file !== undefined && file !== "-";
    if (isFile) await checkOutputFile(context.host, file, "--output");
    // An intake without files needs no schemas.
    const [{ showFile }, { getObject }] = await Promise.all([
      import("../../api/contracts/files.ts"),
      import("../../api/storage/objects.ts"),
    ]);
    const client = await context.client("contracts");
    const { signed_url: url } = await client.call(showFile, { params: { file_id: input.positionals.file_id } });
    const response = await client.send(CheckedCall.check(getObject), { url });
    const content = getDocumentBytes(response, { mayBeEmpty: true });
    if (!isFile) return context.output.printContent(content);
    await writeOutput(context.host, file, content);
    await context.output.note(`Wrote ${file}`);
  },
});

const fields = ["file_id", "filename", "path", "bytes", "content_type"];

const filesUpload = defineCommand({
  words: ["files", "upload"],
  summary: "Upload files and print their IDs",
  description:
    "Asks for a signed URL for each file and streams its bytes there. The IDs go into file_ids of an intake.",
  positionals: [
    {
      name: "path",
      description: "Files to upload, or - for standard input. Pipes are read into memory",
      variadic: true,
    },
  ],
  flags: [
    createTextFlag("filename", "NAME", "File name (default: the name in its path, or stdin for -)"),
    createTextFlag("content-type", "TYPE", "Media type (default: by the extension)"),
    createSwitch("dry-run", "Check the files without uploading them", { short: "n" }),
  ],
  examples: [
    ["Upload two files", "files upload msa.pdf annex.docx"],
    ["Upload from a pipe", "files upload - --filename msa.pdf", "%PDF-1.7"],
    ["Print only the IDs", "files upload msa.pdf --json=file_id"],
  ],
  async run(input, context) {
    const paths = input.positionals.path;
    const { "content-type": contentType, filename } = input.flags;
    if (filename !== undefined && paths.length > 1)
      throw new UsageError("--filename cannot be used with several files");
    if (paths.filter((path) => path === "-").length > 1) throw new UsageError("<path> cannot be - more than once");
    const files = await findUploadCandidates(context, paths, "<path>", { contentType, filename, acceptsStdin: true });
    if (input.flags["dry-run"]) {
      const plan = files.map(({ filename, path, bytes, contentType: content_type }) => {
        return { filename, path, bytes, content_type };
      });
      await context.output.show(plan, { fields: fields.slice(1) });
      await context.output.note("Dry run: nothing was sent");
      return undefined;
    }
    await context.output.show(await uploadFiles(context, files), { fields, columns: ["file_id", "filename", "bytes"] });
  },
});

export const commands: readonly Command[] = [filesUpload, filesDownload];
