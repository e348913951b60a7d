import { command } from "../../command.ts";
import { call } from "../../derived.ts";
import { idempotentFlag, showExisting, withSafeRepeat } from "./idempotent.ts";

export const contractsImportExecuted = command({
  words: ["contracts", "import-executed"],
  summary: "Import a contract that was executed outside the service",
  description: "Its composite ID begins with H-.",
  extendsDerived: true,
  positionals: [],
  flags: [idempotentFlag],
  examples: [
    {
      title: "Import each record of your system once, however often it runs",
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
    const prepared = await call(spec!, { ...input, flags }, context);
    if (prepared === "dry-run") return undefined;
    if (flags.idempotent && (await showExisting(prepared, spec!, context))) return undefined;
    await prepared.send().catch((error: unknown) => {
      throw withSafeRepeat(error);
    });
    return undefined;
  },
});
