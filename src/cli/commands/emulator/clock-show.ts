import { defineCommand } from "../../command.ts";

/** Under the verb, too, by which other groups show one thing. */
export const emulatorClockShow = defineCommand({
  words: ["emulator", "clock", "show"],
  summary: "Show virtual time and what is due next",
  positionals: [],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [{ title: "Show the virtual time", argv: ["emulator", "clock", "show"] }],
  async run({ flags }, context) {
    const { showClock } = await import("../../../api/emulator/clock.ts");
    const client = await context.client("emulator", { file: flags.file });
    await context.output.show(await client.call(showClock, {}, { signal: context.signal }), {
      columns: showClock.cli.columns,
    });
    return undefined;
  },
});
