import type { diffSnapshot } from "../../../api/emulator/state/snapshots.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { defineCommand } from "../../command.ts";

type Item = ResultOf<typeof diffSnapshot>["items"][number];

/** As diff does, it can say by its exit code whether anything is different. */
export const snapshotDiff = defineCommand({
  words: ["emulator", "snapshot", "diff"],
  summary: "Compare a snapshot with the current state or another one",
  description:
    "Prints what changed, with the fields below each. The passing of time and the causes of changes are ignored.",
  positionals: [
    { name: "name", description: "Snapshot to compare" },
    { name: "other", description: "Snapshot to compare with (default: the current state)", optional: true },
  ],
  flags: [
    { flag: "exit-status", type: "switch", description: "Exit 1 if there is a difference" },
    { flag: "brief", type: "switch", description: "Hide the changed fields" },
    {
      flag: "most",
      type: "integer",
      least: 1,
      most: 100_000,
      default: 1_000,
      description: "Maximum number of differences",
    },
    { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
  ],
  examples: [
    { title: "Show what the test changed", argv: ["emulator", "snapshot", "diff", "prepared"] },
    {
      title: "Check that nothing is left behind",
      argv: ["emulator", "snapshot", "diff", "prepared", "--exit-status"],
    },
  ],
  async run({ positionals: { name, other }, flags }, context) {
    const { diffSnapshot } = await import("../../../api/emulator/state/snapshots.ts");
    const { output, signal } = context;
    const client = await context.client("emulator", { file: flags.file });
    const query = { most: flags.most, ...(other !== undefined && { to: other }) };
    const diff = await client.call(diffSnapshot, { params: { name }, query }, { signal });
    if (output.format === "table") {
      await output.print(...diff.items.flatMap((item) => linesOf(item, flags.brief === true)));
      if (diff.same) await output.note("No differences");
      const more = diff.total - diff.items.length;
      if (more > 0) await output.note(`${more} more: --most ${Math.min(diff.total, 100_000)}`);
    } else {
      await output.show(diff, { rows: "items" });
    }
    return diff.same || flags["exit-status"] !== true ? undefined : "failed";
  },
});

const linesOf = ({ what, fields }: Item, brief: boolean): string[] => [
  what,
  ...(brief ? [] : fields.map(({ field, from, to }) => `    ${field}: ${change(from, to)}`)),
];

const change = (from: unknown, to: unknown): string =>
  [from, to]
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(" → ");
