import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../../derive/command-spec.ts";
import type { CommandInput, CommandInputOf } from "../../../parse/declaration.ts";
import { UsageError } from "../../../process/failure.ts";
import { parseShard } from "./input/distinct.ts";
import { detectFormat, type InputFormat, inputFormats } from "./input/format.ts";
import { emailHashings } from "./input/identifiers.ts";

export const createBulkFlags = (batchSize: number) =>
  [
    createTextFlag(
      "input-format",
      "FORMAT",
      "Format of the rows (default: by the file extension; otherwise csv with --column, lines without)",
      { choices: inputFormats },
    ),
    createTextFlag("delimiter", "CHAR", "Delimiter of CSV cells, such as ';' or tab (default: a comma)"),
    createIntegerFlag("batch-size", "Identifiers in one request", { min: 1, default: batchSize }),
    createIntegerFlag("concurrency", "Concurrent requests", { min: 1, default: defaultConcurrency }),
    createSwitch("skip-invalid", "Skip invalid rows and exit 3"),
    createTextFlag("max-errors", "N|P%", "Skip rows that are invalid or rejected (413, 422), up to this many"),
    createTextFlag("errors-out", "FILE", "Write failed rows to a CSV file"),
    createTextFlag("report", "FILE", "Write a report of the job, as .html or .csv"),
    createTextFlag(
      "results",
      "WHICH",
      "Rows to store in the results; all also adds the previous cluster if it can be looked up",
      { choices: ["errors", "all"], default: "errors" },
    ),
    createSwitch("verify", "Look up each identifier after its request; a mismatch counts as failed"),
    createTextFlag("shard", "I/N", "Process only this share of the rows, such as 3/16"),
    createTextFlag("plan-out", "FILE", "Write the plan to a file without sending anything"),
    createTextFlag("apply", "FILE", "Apply a plan without a prompt; fails if the input or the target has changed"),
  ] as const satisfies readonly FlagSpec[];

export const hashFlag = createTextFlag("hash", "HOW", "How e-mail addresses are sent; none sends them unchanged", {
  choices: emailHashings,
  default: "sha256",
});

export const defaultConcurrency = 6;

export type BulkInput = CommandInputOf<
  readonly [
    ...ReturnType<typeof createBulkFlags>,
    typeof hashFlag,
    { readonly flag: "dry-run"; readonly type: "switch" },
  ]
>;

/**
 * Returns the values of the flags, most of which a plan stores. `column` is the selected column. Plain lines have none.
 */
export const readBulkOptions = ({ flags }: BulkInput, path: string, batchSize: number, column?: string) => ({
  ...resolveNotation(flags, path, column),
  hash: flags.hash ?? "sha256",
  batch_size: flags["batch-size"] ?? batchSize,
  concurrency: flags.concurrency ?? defaultConcurrency,
  skip_invalid: flags["skip-invalid"] === true,
  max_errors: flags["max-errors"] ?? null,
  errorsOut: flags["errors-out"],
  report: flags.report,
  verify: flags.verify === true,
  results: flags.results ?? "errors",
  shard: flags.shard === undefined ? null : parseShard(flags.shard),
  planOut: flags["plan-out"],
  dryRun: flags["dry-run"] === true,
});

function resolveNotation(
  { "input-format": formatName, delimiter: givenDelimiter }: BulkInput["flags"],
  path: string,
  column: string | undefined,
): { readonly format: InputFormat; readonly format_guessed: boolean; readonly delimiter: string | null } {
  const byName = formatName ?? detectFormat(path);
  const hasCells = column !== undefined || givenDelimiter !== undefined;
  // A pipe has no file extension.
  const format = formatName === undefined && byName === "lines" && hasCells ? "csv" : byName;
  if (column !== undefined && format === "lines") {
    throw new UsageError("--column requires csv, tsv or ndjson: plain lines have no columns");
  }
  const format_guessed = formatName === undefined;
  if (givenDelimiter === undefined) return { format, format_guessed, delimiter: null };
  if (format !== "csv") {
    throw new UsageError("--delimiter requires csv", { hint: "If the rows are CSV, add --input-format csv." });
  }
  return { format, format_guessed, delimiter: parseDelimiter(givenDelimiter) };
}

function parseDelimiter(name: string): string {
  const delimiter = ["tab", "\\t"].includes(name) ? "\t" : name;
  if ([...delimiter].length === 1 && !/["\r\n]/.test(delimiter)) return delimiter;
  throw new UsageError(`--delimiter must be one character (no quote or line break) or tab, got "${name}"`);
}

const mayJoinApply = new Set(["apply", "concurrency", "errors-out", "report", "dry-run"]);

/** Rejects flags that would change a plan, because a plan is complete. */
export function rejectFlagsWithApply(specs: readonly Pick<FlagSpec, "flag">[], { flags }: CommandInput): void {
  const conflictingFlag = specs.find(({ flag }) => !mayJoinApply.has(flag) && flags[flag] !== undefined);
  if (conflictingFlag) throw new UsageError(`--${conflictingFlag.flag} cannot be used with --apply`);
}

interface ErrorLimit {
  readonly text: string;
  isExceeded(errors: number, rows: number): boolean;
}

/** A percentage of a few rows is meaningless. */
const minPercentageRows = 1_000;

/**
 * Parses `100` or `2%` (DECISIONS.md, L17). Throws a usage error for other values. `total` is the number of rows, if
 * known.
 */
export function parseErrorLimit(text: string, total?: number): ErrorLimit {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (number === undefined || (percent === "" && number.includes("."))) {
    throw new UsageError(`--max-errors must be a number or a percentage (10, 2%), got "${text}"`);
  }
  const limit = Number(number);
  if (percent === "") return { text, isExceeded: (errors) => errors > limit };
  return {
    text,
    isExceeded: (errors, rows) => {
      const totalRows = total ?? (rows < minPercentageRows ? undefined : rows);
      return totalRows !== undefined && errors > (totalRows * limit) / 100;
    },
  };
}
