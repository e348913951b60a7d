import { resolve } from "node:path";
import { toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { CheckedCall } from "../../../client/checked-call.ts";
import type { TypedFlag } from "../../../derive/command-flags.ts";
import { type CommandSpec, createTextFlag, type FlagSpec, type PositionalSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { type FailureKind, InputRequiredError, UsageError } from "../../process/failure.ts";
import { confirmName, confirmYes } from "../../prompt/confirm.ts";
import { type RequestChanges, runDerivedCommand } from "../../runtime/derived-command.ts";
import { createBulkFlags, hashFlag, readBulkOptions, rejectFlagsWithApply } from "./bulk/flags.ts";
import { toIdentifier } from "./bulk/input/identifiers.ts";
import { askAboutMoves } from "./bulk/lookup.ts";
import { readPlannedRequest } from "./bulk/plan.ts";
import { startJob } from "./bulk/start-job.ts";
import { findBulkJobKind, formatOutcome, mappingTables, type RoutingTable, requireConfirmed } from "./bulk/work.ts";

/** Number of identifiers per request. Larger requests are hardly cheaper and need memory on both sides. */
export const defaultBatchSize = 4_000;

const mappingFlags = [
  createTextFlag("column", "NAME|N", "Column of a CSV or TSV file, or field of NDJSON (default: the only one)"),
  ...createBulkFlags(defaultBatchSize),
] as const satisfies readonly FlagSpec[];

const inputFile = {
  name: "file",
  description: "File or pipe with one identifier per row, or - for standard input",
  optional: true,
} as const satisfies PositionalSpec;

/** `integration-type` is a flag of the derived commands of external integrations. */
const derivedFlags = [
  { flag: "cluster", type: "text" },
  { flag: "integration-type", type: "text" },
  { flag: "dry-run", type: "switch" },
] as const satisfies readonly TypedFlag[];

type MappingInput = CommandInputOf<
  readonly [...typeof mappingFlags, typeof removalFlag, typeof hashFlag, ...typeof derivedFlags],
  readonly [typeof inputFile]
>;

/** Creates `map-<table>` or `unmap-<table>`. A whole file becomes a job, and derived flags accept a few identifiers. */
function createMappingCommand(table: RoutingTable, action: "map" | "unmap"): Command {
  const { name, noun } = table;
  const words = ["router", `${action}-${name}`];
  const file = `${name}.csv`;
  const flags = [
    ...mappingFlags,
    ...(name === "emails" ? [hashFlag] : []),
    ...(action === "unmap" ? [removalFlag] : []),
  ];
  const column = name === "emails" ? "email" : "id";
  const target = ["--cluster", "eu-1", ...(name === "external-integrations" ? ["--integration-type", "CHAT_B"] : [])];
  return defineCommand({
    words,
    summary: action === "map" ? `Map ${noun}s to a cluster` : `Remove ${noun}s of a cluster`,
    description: [
      "Reads identifiers from a file or standard input: plain lines, a column of CSV or TSV, or NDJSON, in UTF-8, gzip or not, of any size.",
      ...(name === "emails"
        ? [
            "Addresses are trimmed, normalized (NFC), lower-cased and hashed (SHA-256); 64-digit hex digests are accepted unchanged. Domains in other scripts and plus tags are hashed unchanged. --email-hash-list accepts both.",
          ]
        : []),
      "Blank lines are skipped. A row of a table or of NDJSON without a string in its column is invalid.",
      "A file is checked before anything is sent. Every run is a job that svc router jobs resume can continue.",
    ].join(" "),
    extendsDerived: true,
    readsDerived: { flags: derivedFlags },
    bodyFrom: ["file", "apply"],
    positionals: [inputFile],
    flags,
    examples: [
      { title: "Read a column of a CSV file", argv: [...words, file, "--column", column, ...target] },
      {
        title: "Plan first, then apply the plan",
        argv: [...words, file, "--column", column, ...target, "--plan-out", "plan.json"],
      },
    ],
    async run(input, context, spec) {
      const path = input.positionals.file;
      if (path === undefined && input.flags.apply === undefined) return runFew(spec!, table, action, input, context);
      return runMapping(`${action}-${name}`, flags, path, input, context).catch((error: unknown) => {
        throw input.flags.apply === undefined && isAbsent(error, path, context)
          ? error.withHint(`To pass a few ${noun}s as options, use --${listFlag(spec!, table.listField)}.`)
          : error;
      });
    },
  });
}

function isAbsent(error: unknown, file: string | undefined, { host }: Context): error is UsageError {
  const { code, path } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return error instanceof UsageError && code === "ENOENT" && file !== undefined && path === resolve(host.cwd, file);
}

const listFlag = ({ flags }: CommandSpec, listField: string): string =>
  flags.find(({ target }) => target?.name === listField)!.flag;

async function runFew(
  spec: CommandSpec,
  { name, noun, getKind, listField }: RoutingTable,
  action: "map" | "unmap",
  input: MappingInput,
  context: Context,
): Promise<FailureKind | undefined> {
  const flag = listFlag(spec, listField);
  if (![flag, "data", "set"].some((name) => name in input.flags)) {
    throw new InputRequiredError("file", `<file> is required; or --${flag}`);
  }
  const getMapped = ({ args }: CheckedCall) => {
    const { cluster_id, [listField]: list } = toFields(args.body);
    const identifiers = [list].flat();
    return { cluster: String(cluster_id), rows: identifiers.length, distinct: new Set(identifiers).size };
  };
  const changes: RequestChanges = {
    sign: (requestedCall) => {
      const body = toFields(requestedCall.args.body);
      const identifierKind = getKind(input.flags.hash ?? "sha256");
      const identifiers = [body[listField]]
        .flat()
        .map((identifier) => toIdentifier(identifierKind, String(identifier)));
      return requestedCall.with({ body: { ...body, [listField]: identifiers } });
    },
    check: ({ value }, sent) => requireConfirmed(value, { action, noun, ...getMapped(sent) }),
    formatOutcome: (sent) => formatOutcome({ action, noun, ...getMapped(sent) }),
  };
  const confirmCall = async (requestedCall: CheckedCall) => {
    if (action === "unmap") return confirmRemoval({ noun, ...getMapped(requestedCall) }, input.flags.confirm, context);
    const values = [toFields(requestedCall.args.body)[listField]].flat().map(String);
    return askAboutMoves(findBulkJobKind(`map-${name}`)!, getMapped(requestedCall).cluster, values, context);
  };
  return runDerivedCommand(spec, input, context, { ...changes, confirm: confirmCall });
}

async function runMapping(
  name: string,
  specs: readonly FlagSpec[],
  file: string | undefined,
  input: MappingInput,
  context: Context,
): Promise<FailureKind | undefined> {
  const work = findBulkJobKind(name)!;
  const { apply, column, confirm, "integration-type": integrationType } = input.flags;
  if (apply !== undefined) {
    rejectFlagsWithApply([...specs, ...derivedFlags], input);
    return startJob(await readPlannedRequest(work, file, { ...input.flags, apply }, context), context);
  }
  const { cluster } = input.flags;
  if (cluster === undefined) throw new InputRequiredError("cluster", "--cluster is required");
  if (name.endsWith("external-integrations") && integrationType === undefined) {
    throw new InputRequiredError("integration-type", "--integration-type is required");
  }
  return startJob(
    {
      ...readBulkOptions(input, file!, defaultBatchSize, column),
      work,
      path: file!,
      columns: column === undefined ? [] : [column],
      scope: {
        cluster_id: cluster,
        ...(integrationType === undefined ? {} : { integration_type: integrationType }),
      },
      async confirmRows(rows) {
        if (work.action === "unmap") await confirmRemoval({ noun: work.noun, cluster, rows }, confirm, context);
      },
    },
    context,
  );
}

/** Up to this many removals require `y`. Larger ones require the name of the cluster (DECISIONS.md, L8). */
const maxRowsConfirmedByYes = 10_000;

const removalFlag = createTextFlag(
  "confirm",
  "ID",
  `Confirm the cluster ID, to remove more than ${maxRowsConfirmedByYes / 1_000},000 rows or rows of a pipe`,
);

/** Prompts before identifiers are removed. The number of rows of a pipe is unknown and counts as large. */
async function confirmRemoval(
  mappings: { readonly noun: string; readonly cluster: string; readonly rows: number | undefined },
  confirmedName: string | undefined,
  context: Context,
): Promise<void> {
  const { noun, cluster, rows } = mappings;
  const subject = rows === undefined ? `all piped ${noun}s` : pluralize(rows, noun);
  const action = `Remove ${subject} from ${cluster}`;
  const needsName = rows === undefined || rows > maxRowsConfirmedByYes;
  if (needsName || confirmedName !== undefined) return confirmName(action, cluster, confirmedName, context);
  return confirmYes(action, context);
}

export const commands: readonly Command[] = mappingTables.flatMap((table) => [
  createMappingCommand(table, "map"),
  createMappingCommand(table, "unmap"),
]);
