import { toFields } from "../../base/object.ts";
import { pluralize } from "../../base/text.ts";
import { createTextFlag } from "../../derive/command-spec.ts";
import { type Command, defineCommand } from "../command.ts";
import { describeCompletedUploads, findUploadCandidates, uploadFiles } from "../connection/uploads.ts";
import { PartialFailureError } from "../process/failure.ts";
import { prepareRequest } from "../runtime/derived-command.ts";

const intakeCreate = defineCommand({
  words: ["intake", "create"],
  summary: "Create a legal intake, with files uploaded first",
  extendsDerived: true,
  flags: [createTextFlag("file", "PATH", "Upload and attach this file", { repeatable: true })],
  examples: [
    [
      "Create a request with two files",
      "intake create --title 'Review the MSA' --workflow-id 201 --file msa.pdf --file annex.pdf",
    ],
  ],
  async run(input, context, spec) {
    const files = await findUploadCandidates(context, input.flags.file ?? [], "--file");
    // All input is checked before the first upload.
    const { file: _, ...flags } = input.flags;
    const request = await prepareRequest(spec!, { ...input, flags }, context);
    if (request === "dry-run") {
      for (const { path, bytes } of files)
        await context.output.note(`would upload ${path} (${pluralize(bytes, "byte")})`);
      return undefined;
    }
    const uploads = files.length > 0 ? await uploadFiles(context, files) : [];
    const body = toFields(request.call.args.body);
    const fileIds = [body.file_ids ?? [], uploads.map(({ file_id: id }) => id)].flat();
    const bodyWithFiles = fileIds.length > 0 ? { ...body, file_ids: fileIds } : body;
    const response = request.send(request.call.with({ body: bodyWithFiles }));
    await response.catch((error: unknown) => {
      if (uploads.length === 0) throw error;
      throw new PartialFailureError(error, describeCompletedUploads(uploads), {
        hint: "To use the uploaded files without another upload, use --file-ids.",
      });
    });
  },
});

export const commands: readonly Command[] = [intakeCreate];
