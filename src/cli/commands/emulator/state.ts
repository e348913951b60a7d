import { defineCommand } from "../../command.ts";
import { stateFile } from "../../connection/run-file.ts";
import { runDerivedCommand } from "../../derived-command.ts";

/** Not derived: the document is for a file and never a table, however it is printed. */
export const emulatorStateExport = defineCommand({
  words: ["emulator", "state", "export"],
  prints: "content",
  summary: "Print the whole state as one JSON document",
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "file", type: "text" }] },
  positionals: [],
  flags: [
    {
      flag: "output",
      short: "o",
      type: "text",
      placeholder: "FILE",
      description: "Write to a file that only you can read",
    },
  ],
  examples: [{ title: "To a file", argv: ["emulator", "state", "export", "-o", "state.json"] }],
  async run({ flags }, context) {
    const { checkOutputFile, writeOutput } = await import("../../output/file.ts");
    const file = flags.output;
    const toFile = file !== undefined && file !== "-";
    const inputs = [stateFile(context.host, flags.file)];
    if (toFile) await checkOutputFile(context.host, file, "--output", { inputs });
    const { exportState } = await import("../../../api/emulator/state/state.ts");
    const client = await context.client("emulator", { file: flags.file });
    const state = await client.call(exportState, {}, { signal: context.signal });
    if (!toFile) {
      await context.output.document(state, 2);
      return undefined;
    }
    // It holds the keys and secrets of all workspaces.
    await writeOutput(context.host, file, [Buffer.from(`${JSON.stringify(state, null, 2)}\n`)], 0o600);
    await context.output.note(`Wrote ${file}`);
    return undefined;
  },
});

export const emulatorStateImport = defineCommand({
  words: ["emulator", "state", "import"],
  summary: "Replace the whole state with an exported one",
  description: "Accepts the output of svc emulator state export, from an emulator with the same clusters.",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [{ title: "Restore an exported state", argv: ["emulator", "state", "import", "--data", "state.json"] }],
  run: async (input, context, spec) => runDerivedCommand(spec!, input, context),
});
