import type { FlagSpec } from "../../../derive/command-spec.ts";
import { inputFormats } from "../../bulk/rows.ts";
import { type BulkTable, bulkTables } from "../../bulk/tables.ts";
import type { Command } from "../../command.ts";
import { CommandFailed, UsageError } from "../../failure.ts";

const bulkFlags: readonly FlagSpec[] = [
  { flag: "cluster", type: "text", placeholder: "ID", description: "Cluster that owns the identifiers of the file" },
  {
    flag: "column",
    type: "text",
    placeholder: "NAME|N",
    description: "Column of a CSV file, or field of NDJSON; default: the first",
  },
  {
    flag: "input-format",
    type: "text",
    placeholder: "FORMAT",
    choices: inputFormats,
    description: "Default: by the file's extension, else lines",
  },
  { flag: "batch-size", type: "integer", default: 1_000, description: "Identifiers in one call" },
  { flag: "concurrency", type: "integer", default: 4, description: "Calls at a time" },
  { flag: "skip-invalid", type: "switch", description: "Leave out rows that are no identifiers, and exit 3" },
  { flag: "errors-out", type: "text", placeholder: "FILE", description: "Write rows that are left out to a CSV file" },
];

/** `map-<table>` or `unmap-<table>`: a whole file, or the derived flags for a few identifiers. */
function bulkCommand(table: BulkTable, action: "map" | "unmap"): Command {
  const words = ["router", `${action}-${table.name}`];
  const file = `${table.name}.csv`;
  return {
    words,
    summary: action === "map" ? `Map ${table.noun}s to a cluster` : `Remove ${table.noun}s of a cluster`,
    description: [
      "Reads identifiers from a file or standard input: plain lines, a CSV column or NDJSON, gzip or not, of any size.",
      ...(table.name === "emails"
        ? ["Addresses are trimmed, lower-cased and hashed; 64-digit hex digests pass as they are."]
        : []),
    ].join(" "),
    extendsDerived: true,
    positionals: [
      { name: "file", description: "File with one identifier a row, or - for standard input", optional: true },
    ],
    flags: bulkFlags,
    examples: [
      { title: "A column of a CSV file", argv: [...words, file, "--column", "id", "--cluster", "eu-1"] },
      { title: "From a pipe", argv: [...words, "-", "--cluster", "eu-1"] },
    ],
    async run(input, context, spec) {
      const path = input.positionals.file as string | undefined;
      const clusterId = (input.flags.cluster ?? input.flags["cluster-id"]) as string | undefined;
      if (path === undefined) {
        const { runDerived } = await import("../../derived.ts");
        const isDerived = spec!.flags.some(
          ({ flag, target }) => (target || flag === "data" || flag === "set") && input.flags[flag] !== undefined,
        );
        if (!isDerived) throw new UsageError("<file> required: a file with one identifier a row, or -");
        const flags = clusterId === undefined ? input.flags : { ...input.flags, "cluster-id": clusterId };
        return runDerived(spec!, { ...input, flags }, context);
      }
      if (clusterId === undefined) throw new UsageError("--cluster required");
      const dryRun = input.flags["dry-run"] === true;
      if (action === "unmap" && !dryRun) {
        const sure = await context.confirm(`Remove the ${table.noun}s in ${path} from ${clusterId}?`, "--yes");
        if (!sure) throw new CommandFailed("failed", "declined", "Nothing was changed.");
      }
      const integrationType = input.flags["integration-type"];
      const { runJob } = await import("../../bulk/job.ts");
      return runJob(
        {
          table,
          action,
          input: path,
          scope: {
            cluster_id: clusterId,
            ...(integrationType === undefined ? {} : { integration_type: integrationType }),
          },
          format: input.flags["input-format"] as (typeof inputFormats)[number] | undefined,
          column: input.flags.column as string | undefined,
          batchSize: positive(input.flags["batch-size"] ?? 1_000, "--batch-size"),
          concurrency: positive(input.flags.concurrency ?? 4, "--concurrency"),
          skipInvalid: input.flags["skip-invalid"] === true,
          errorsOut: input.flags["errors-out"] as string | undefined,
          dryRun,
        },
        context,
      );
    },
  };
}

function positive(value: unknown, flag: string): number {
  const number = Number(value);
  if (number < 1) throw new UsageError(`${flag} takes a number of at least 1`);
  return number;
}

export const bulkCommands: readonly Command[] = bulkTables.flatMap((table) => [
  bulkCommand(table, "map"),
  bulkCommand(table, "unmap"),
]);
