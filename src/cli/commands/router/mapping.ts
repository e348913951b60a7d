import { resolve } from "node:path";
import { toFields } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import type { CheckedCall } from "../../../client/checked-call.ts";
import type { TypedFlag } from "../../../derive/command-flags.ts";
import { type CommandSpec, createTextFlag, type FlagSpec, type PositionalSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { InputRequiredError, UsageError } from "../../process/failure.ts";
import { confirmName, confirmYes } from "../../prompt/terminal.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { hashFlag, toIdentifier } from "./bulk/identifiers.ts";
import { formatOutcome, type MappingJobKind, mappingJobKinds, requireConfirmed } from "./bulk/job-kinds.ts";
import { confirmMoves } from "./bulk/lookup.ts";
import { createBulkFlags, readBulkOptions, readPlannedRequest } from "./bulk/plan.ts";
import { startJob } from "./bulk/start-job.ts";

/** Number of identifiers per request. Larger requests are hardly cheaper and need memory on both sides. */
export const defaultBatchSize = 4_000;

/** Up to this many removals require `y`. Larger ones require the name of the cluster (DECISIONS.md, L8). */
const maxRowsConfirmedByYes = 10_000;

const removalFlag = createTextFlag(
  "confirm",
  "ID",
  `Confirm the cluster ID, to remove more than ${maxRowsConfirmedByYes / 1_000},000 rows or rows of a pipe`,
);

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

const requiresType = ({ plural }: MappingJobKind): boolean => plural === "external-integrations";

/** Creates `map-<table>` or `unmap-<table>`. A whole file becomes a job, and derived flags accept a few identifiers. */
function createMappingCommand(work: MappingJobKind): Command {
  const { name, action, plural, noun } = work;
  const isEmail = plural === "emails";
  const words = ["router", name];
  const flags = [...mappingFlags, ...(isEmail ? [hashFlag] : []), ...(action === "unmap" ? [removalFlag] : [])];
  const target = ["--cluster", "eu-1", ...(requiresType(work) ? ["--integration-type", "CHAT_B"] : [])];
  const argv = [...words, `${plural}.csv`, "--column", isEmail ? "email" : "id", ...target];
  return defineCommand({
    words,
    summary: action === "map" ? `Map ${noun}s to a cluster` : `Remove ${noun}s of a cluster`,
    description: [
      "Reads identifiers from a file or standard input: plain lines, a column of CSV or TSV, or NDJSON, in UTF-8, gzip or not, of any size.",
      ...(isEmail
        ? [
            "Addresses are trimmed, normalized (NFC), lower-cased and hashed (SHA-256); 64-digit hex digests are accepted unchanged. Domains in other scripts and plus tags are hashed unchanged. --email-hash-list accepts both.",
          ]
        : []),
      "Blank lines are skipped. A row of a table or of NDJSON without a string or number in its column is invalid.",
      "A file is checked before anything is sent. Every run is a job that svc router jobs resume can continue.",
    ].join(" "),
    extendsDerived: true,
    readsDerived: { flags: derivedFlags },
    bodyFrom: ["file", "apply"],
    positionals: [inputFile],
    flags,
    examples: [
      { title: "Read a column of a CSV file", argv },
      { title: "Plan first, then apply the plan", argv: [...argv, "--plan-out", "plan.json"] },
    ],
    async run(input, context, spec) {
      const { apply } = input.flags;
      const path = input.positionals.file;
      if (apply !== undefined) {
        const request = await readPlannedRequest(work, path, [...flags, ...derivedFlags], input, context);
        return startJob(request, context);
      }
      if (path === undefined) return mapFew(spec!, work, input, context);
      return mapFile(work, path, input, context).catch((error: unknown) => {
        const hint = `To pass a few ${noun}s as options, use --${getListFlag(spec!, work)}.`;
        throw isAbsent(error, path, context) ? error.withHint(hint) : error;
      });
    },
  });
}

function isAbsent(error: unknown, file: string, { host }: Context): error is UsageError {
  const { code, path } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return error instanceof UsageError && code === "ENOENT" && path === resolve(host.cwd, file);
}

const getListFlag = ({ flags }: CommandSpec, { listField }: MappingJobKind): string =>
  flags.find(({ target }) => target?.name === listField)!.flag;

async function mapFile(work: MappingJobKind, path: string, input: MappingInput, context: Context) {
  const { cluster, column, confirm, "integration-type": integration_type } = input.flags;
  if (cluster === undefined) throw new InputRequiredError("cluster", "--cluster is required");
  if (requiresType(work) && integration_type === undefined) {
    throw new InputRequiredError("integration-type", "--integration-type is required");
  }
  return startJob(
    {
      ...readBulkOptions(input, path, defaultBatchSize, column),
      ...{ work, path, columns: column === undefined ? [] : [column] },
      scope: { cluster_id: cluster, ...(integration_type !== undefined && { integration_type }) },
      async confirmRows(rows) {
        if (work.action === "unmap") await confirmRemoval(work.noun, cluster, rows, confirm, context);
      },
    },
    context,
  );
}

async function mapFew(spec: CommandSpec, work: MappingJobKind, input: MappingInput, context: Context) {
  const { action, noun, listField } = work;
  const flag = getListFlag(spec, work);
  if (![flag, "data", "set"].some((name) => name in input.flags)) {
    throw new InputRequiredError("file", `<file> or --${flag} is required`);
  }
  const readBody = ({ args }: CheckedCall) => {
    const body = toFields(args.body);
    return { body, cluster: String(body.cluster_id), values: [body[listField]].flat().map(String) };
  };
  const getOutcome = (call: CheckedCall) => {
    const { cluster, values } = readBody(call);
    return { action, noun, cluster, rows: values.length, distinct: new Set(values).size };
  };
  return runDerivedCommand(spec, input, context, {
    sign(call) {
      const { body, values } = readBody(call);
      const kind = work.getKind({ hash: input.flags.hash ?? "sha256", scope: {} });
      return call.with({ body: { ...body, [listField]: values.map((value) => toIdentifier(kind, value)) } });
    },
    confirm(call) {
      const { cluster, values } = readBody(call);
      if (action === "map") return confirmMoves(work, cluster, values, context);
      return confirmRemoval(noun, cluster, values.length, input.flags.confirm, context);
    },
    check: ({ value }, sentCall) => requireConfirmed(value, getOutcome(sentCall)),
    formatOutcome: (sentCall) => formatOutcome(getOutcome(sentCall)),
  });
}

/** Prompts before identifiers are removed. The number of rows of a pipe is unknown and counts as large. */
async function confirmRemoval(
  noun: string,
  cluster: string,
  rows: number | undefined,
  confirmedName: string | undefined,
  context: Context,
): Promise<void> {
  const subject = rows === undefined ? `all piped ${noun}s` : pluralize(rows, noun);
  const action = `Remove ${subject} from ${cluster}`;
  const needsName = rows === undefined || rows > maxRowsConfirmedByYes;
  if (needsName || confirmedName !== undefined) return confirmName(action, cluster, confirmedName, context);
  return confirmYes(action, context);
}

export const commands: readonly Command[] = mappingJobKinds.map(createMappingCommand);
