import { defineCommand } from "../../command.ts";
import { prepareCall } from "../../derived-command.ts";
import { addSafeRepeat, idempotentFlag, showExisting } from "./idempotent.ts";

export const contractsImportExecuted = defineCommand({
  words: ["contracts", "import-executed"],
  summary: "Import a contract that was executed outside the service",
  description: "Its composite ID begins with H-.",
  extendsDerived: true,
  positionals: [],
  flags: [idempotentFlag],
  examples: [
    {
      title: "Import each record of your system once, even if it runs again",
      argv: [
        "contracts",
        "import-executed",
        "--data",
        "archived.json",
        "--set",
        "external_metadata.id=deal-42",
        "--idempotent",
      ],
    },
  ],
  async run({ flags, ...input }, context, spec) {
    const prepared = await prepareCall(spec!, { ...input, flags }, context);
    if (prepared === "dry-run") return undefined;
    if (flags.idempotent && (await showExisting(prepared, spec!, context))) return undefined;
    await prepared.send().catch((error: unknown) => {
      throw addSafeRepeat(error);
    });
    return undefined;
  },
});
