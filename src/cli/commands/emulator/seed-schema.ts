import { defineCommand } from "../../command.ts";

export const emulatorSeedSchema = defineCommand({
  words: ["emulator", "seed-schema"],
  prints: "content",
  summary: "Print the JSON Schema of seed files",
  positionals: [],
  flags: [],
  examples: [{ title: "For an editor", argv: ["emulator", "seed-schema"] }],
  async run(_, { output }) {
    const { seedSchema } = await import("../../../../emulator/index.ts");
    await output.document(seedSchema(), 2);
    return undefined;
  },
});
