import { CheckedCall } from "../../../client/checked-call.ts";
import { defineCommand } from "../../command.ts";

export const filesDownload = defineCommand({
  words: ["files", "download"],
  prints: "content",
  summary: "Download a file from its signed URL",
  positionals: [{ name: "file_id", description: "file_id of the upload" }],
  flags: [
    {
      flag: "output",
      short: "o",
      type: "text",
      placeholder: "FILE",
      description: "Write to this file (default: standard output)",
    },
  ],
  examples: [
    { title: "Into a file", argv: ["files", "download", "4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10", "-o", "msa.pdf"] },
  ],
  async run(input, context) {
    const [{ showFile }, { getObject }] = await Promise.all([
      import("../../../api/contracts/files.ts"),
      import("../../../api/storage/objects.ts"),
    ]);
    const { checkOutputFile, rejectBytesOnTerminal, writeOutput } = await import("../../output/file.ts");
    const file = input.flags.output;
    rejectBytesOnTerminal(context.host, file);
    const toFile = file !== undefined && file !== "-";
    if (toFile) await checkOutputFile(context.host, file, "--output");
    const client = await context.client("contracts");
    const { signal } = context;
    const { signed_url: url } = await client.call(
      showFile,
      { params: { file_id: input.positionals.file_id } },
      { signal },
    );
    const { value } = await client.send(CheckedCall.of(getObject), { url, signal });
    const content = value as AsyncIterable<Uint8Array>;
    if (!toFile) {
      await context.output.content(content);
      return undefined;
    }
    await writeOutput(context.host, file, content);
    await context.output.note(`Wrote ${file}`);
    return undefined;
  },
});
