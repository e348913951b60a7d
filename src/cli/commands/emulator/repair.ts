import { lookupTable } from "../../../base/lookup-table.ts";
import { pluralize } from "../../../base/pluralize.ts";
import { defineCommand } from "../../command.ts";
import { toFlagTerms } from "../../connection/start-error.ts";
import { CommandFailedError } from "../../failure.ts";
import { requireFile } from "../../parse/body.ts";

const codes = lookupTable<string>({
  StateLockedError: "state_in_use",
  StateFormatError: "state_refused",
  StateAccessError: "state_unusable",
  NotALockFileError: "not_a_run_file",
});

export const emulatorRepair = defineCommand({
  words: ["emulator", "repair"],
  sendsNothing: true,
  summary: "Repair a damaged state up to the damaged part",
  description: "Damaged files are renamed, never deleted. Fails while an emulator uses the state.",
  positionals: [{ name: "file", description: "State file" }],
  flags: [],
  examples: [{ title: "After an error about a damaged line", argv: ["emulator", "repair", ".svc/emulator.json"] }],
  async run(input, context) {
    const path = await requireFile(context.host, input.positionals.file, "<file>");
    const { repairState } = await import("../../../../emulator/index.ts");
    const repair = await repairState(path).catch((error: Error) => {
      const code = codes[error.name];
      if (code === undefined) throw error;
      throw new CommandFailedError("failed", code, toFlagTerms(error), { cause: error });
    });
    const { output } = context;
    if (output.format !== "table") {
      await output.show(repair);
      return undefined;
    }
    const { rows, mappings, transactions } = repair.kept;
    const kept = `${pluralize(rows, "row")}, ${pluralize(mappings, "mapping")}, ${pluralize(transactions, "transaction")} of the journal`;
    if (!repair.repaired) {
      await output.print(`No damage found: ${kept}`);
      return undefined;
    }
    await output.print(
      ...repair.damage.map((line) => `damaged: ${line}`),
      ...repair.dropped.map((file) => `dropped, because it follows the damage: ${file}`),
      ...repair.aside.map((file) => `renamed: ${file}`),
      `kept: ${kept}`,
    );
    return undefined;
  },
});
