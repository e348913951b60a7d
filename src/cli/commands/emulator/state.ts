import { diffSnapshot, type rewind } from "../../../api/emulator/snapshots.ts";
import { exportState } from "../../../api/emulator/state.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { stringifyExact } from "../../../base/json.ts";
import { pluralize } from "../../../base/text.ts";
import { createIntegerFlag, createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { resolveStateFile } from "../../connection/emulator/run-file.ts";
import { toStateError } from "../../connection/emulator/start-errors.ts";
import { maskReturnedSecrets } from "../../output/ci.ts";
import { checkOutputFile, writeOutput } from "../../output/file.ts";
import { InputTooLargeError, requireFile } from "../../parse/body.ts";
import { pickGiven } from "../../parse/values.ts";
import { prepareRequest, runDerivedCommand } from "../../runtime/derived-command.ts";
import { buildFirstPageQuery, reportMoreRows } from "../../runtime/paging.ts";

/** This command is not derived, because its document is written to a file and never formatted as a table. */
const emulatorStateExport = defineCommand({
  words: ["emulator", "state", "export"],
  prints: "content",
  extendsDerived: true,
  readsDerived: { flags: [{ flag: "file", type: "text" }] },
  flags: [createTextFlag("output", "FILE", "Write to a file that only you can read", { short: "o" })],
  examples: [["Write the state to a file", "emulator state export -o state.json"]],
  async run({ flags }, context) {
    const file = flags.output;
    const isFile = file !== undefined && file !== "-";
    const inputs = [resolveStateFile(context.host, flags.file)];
    if (isFile) await checkOutputFile(context.host, file, "--output", { inputs });
    const client = await context.client("emulator", { file: flags.file });
    const state = await client.call(exportState);
    // The document contains the keys and secrets of all workspaces.
    await maskReturnedSecrets(context.host, state);
    if (!isFile) return context.output.printDocument(state, 2);
    await writeOutput(context.host, file, [Buffer.from(`${stringifyExact(state, 2)}\n`)], 0o600);
    await context.output.note(`Wrote ${file}`);
  },
});

const emulatorStateImport = defineCommand({
  words: ["emulator", "state", "import"],
  description: "Accepts the output of svc emulator state export, from an emulator with the same clusters.",
  extendsDerived: true,
  examples: [["Restore an exported state", "emulator state import --data state.json"]],
  run: (input, context, spec) =>
    runDerivedCommand(spec!, input, context).catch((error: unknown) => {
      throw error instanceof InputTooLargeError ? error.withHint(snapshotHint) : error;
    }),
});

const snapshotHint =
  "A snapshot can be larger: save one with svc emulator snapshot save NAME, and start with svc emulator start --from FILE.";

const emulatorRepair = defineCommand({
  words: ["emulator", "repair"],
  sendsNothing: true,
  summary: "Recover the intact part of a damaged state",
  description:
    "Retains what precedes the damage, and drops what follows it. Damaged files are renamed, never deleted. Fails while an emulator uses the state.",
  positionals: [{ name: "file", description: "State file" }],
  examples: [["Repair a state with a damaged line", "emulator repair .svc/emulator.json"]],
  async run(input, context) {
    const path = await requireFile(context.host, input.positionals.file, "<file>");
    const { repairState } = await import("../../../../emulator/index.ts");
    const repair = await repairState(path).catch((error: Error) => {
      throw toStateError(error);
    });
    const { output } = context;
    const { rows, mappings, transactions } = repair.retained;
    const counts = `${pluralize(rows, "row")}, ${pluralize(mappings, "mapping")}, ${pluralize(transactions, "transaction")} of the journal`;
    if (!repair.repaired) return output.showOrPrint(repair, `No damage found: ${counts}`);
    return output.showOrPrint(
      repair,
      ...repair.damage.map((line) => `damaged: ${line}`),
      ...repair.dropped.map((file) => `dropped, because it follows the damage: ${file}`),
      ...repair.renamed.map((file) => `renamed: ${file}`),
      `retained: ${counts}`,
    );
  },
});

/** Maximum number of undone steps that are printed. The JSON result has more. */
const maxNamedSteps = 10;

/** Names the undone steps on standard error, because a rewind can undo other steps than the user expects. */
const emulatorRewind = defineCommand({
  words: ["emulator", "rewind"],
  extendsDerived: true,
  async run(input, context, spec) {
    const request = await prepareRequest<ResultOf<typeof rewind>>(spec!, input, context, { reads: true });
    if (request === "dry-run") return undefined;
    const { steps, undone } = (await request.send()).value;
    if (context.output.format !== "table") return undefined;
    for (const { id, at, what, contract } of steps.slice(0, maxNamedSteps)) {
      await context.output.note(`Undone: ${id} at ${at}: ${what}${contract === null ? "" : ` (${contract})`}`);
    }
    const unnamed = undone - Math.min(steps.length, maxNamedSteps);
    if (unnamed > 0) await context.output.note(`Also undone: ${pluralize(unnamed, "earlier step")}`);
  },
});

const paging = { maxPerPage: 100_000, rows: "items", total: "total" } as const;

/** The exit code can report differences, as with diff. */
const snapshotDiff = defineCommand({
  words: ["emulator", "snapshot", "diff"],
  summary: "Compare a snapshot with the current state or another one",
  description:
    "Prints what changed, with the fields below each. The passing of time and the causes of changes are ignored.",
  positionals: [
    { name: "name", description: "Snapshot to compare" },
    { name: "other", description: "Snapshot to compare with (default: the current state)", optional: true },
  ],
  flags: [
    createSwitch("exit-status", "Exit 1 if there is a difference"),
    createSwitch("brief", "Hide the changed fields"),
    createIntegerFlag("limit", "Maximum number of differences", { min: 1, max: paging.maxPerPage, default: 1_000 }),
    createSwitch("all", `Show the maximum number of differences (${paging.maxPerPage})`),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["Show what the test changed", "emulator snapshot diff prepared"],
    ["Check that nothing is left behind", "emulator snapshot diff prepared --exit-status"],
  ],
  async run({ positionals: { name, other }, flags }, context) {
    const { output } = context;
    const client = await context.client("emulator", { file: flags.file });
    const options = { ...pickGiven(flags, ["limit"]), ...(other !== undefined && { to: other }) };
    const query = buildFirstPageQuery(paging, options, flags.all === true);
    const diff = await client.call(diffSnapshot, { params: { name }, query });
    if (output.isText) {
      for (const item of diff.items) await output.print(...formatItem(item, flags.brief === true));
      if (diff.same) await output.note("No differences");
    } else {
      await output.show(diff, { rows: "items" });
    }
    await reportMoreRows(paging, diff, query, context, flags.all === true);
    return diff.same || flags["exit-status"] !== true ? undefined : "failed";
  },
});

const formatItem = ({ what, fields }: ResultOf<typeof diffSnapshot>["items"][number], brief: boolean): string[] => [
  what,
  ...(brief ? [] : fields.map(({ field, from, to }) => `    ${field}: ${formatChange(from, to)}`)),
];

const formatChange = (from: unknown, to: unknown): string =>
  [from, to]
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(" → ");

const emulatorSeedSchema = defineCommand({
  words: ["emulator", "seed-schema"],
  sendsNothing: true,
  prints: "content",
  summary: "Print the JSON Schema of seed files",
  examples: [["Print the JSON Schema for an editor", "emulator seed-schema"]],
  async run(_, { output }) {
    const { seedSchema } = await import("../../../../emulator/index.ts");
    await output.printDocument(seedSchema(), 2);
  },
});

export const commands: readonly Command[] = [
  emulatorRepair,
  emulatorRewind,
  emulatorSeedSchema,
  snapshotDiff,
  emulatorStateExport,
  emulatorStateImport,
];
