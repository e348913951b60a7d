import { defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../derived-command.ts";

/** A table is looked at over shoulders and in recordings: it says where the secrets are, and holds none. */
export const emulatorWorkspaces = defineCommand({
  words: ["emulator", "workspaces"],
  summary: "List workspaces with their keys",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    await runDerivedCommand(spec!, input, context);
    const hides = context.output.format === "table" && context.globals.fields === undefined;
    if (hides) await context.output.note("With the secrets (for variables of the first one: svc emulator env)");
    return undefined;
  },
});
