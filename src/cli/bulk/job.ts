import { createWriteStream, type WriteStream } from "node:fs";
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { Operation } from "../../api/operation.ts";
import { openInput } from "../body.ts";
import type { Context } from "../command.ts";
import { CommandFailed, UsageError, type Verdict } from "../failure.ts";
import { csvLine } from "../output/text.ts";
import { batchesOf, type InvalidRow } from "./batches.ts";
import { progressOf } from "./progress.ts";
import { pump } from "./pump.ts";
import { formatByName, type InputFormat, rowsOf } from "./rows.ts";
import type { BulkTable } from "./tables.ts";

/** What a bulk command line asks for. */
export interface JobOptions {
  readonly table: BulkTable;
  readonly action: "map" | "unmap";
  readonly input: string;
  /** The fields of the request body beside the list: the cluster, and what else the table needs. */
  readonly scope: Readonly<Record<string, unknown>>;
  readonly format: InputFormat | undefined;
  readonly column: string | undefined;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly skipInvalid: boolean;
  readonly errorsOut: string | undefined;
  readonly dryRun: boolean;
}

/** What was done, for `--json` and for the last line. */
export interface JobReport {
  readonly action: string;
  readonly cluster_id: unknown;
  readonly rows: number;
  readonly batches: number;
  readonly moved: number;
  readonly invalid: number;
  readonly first_invalid_row: number | null;
}

/**
 * Streams a file into a mapping table: rows → identifiers → batches → calls. Every call repeats without harm, so
 * temporary trouble is retried. Exit 2 when a wrong row is met before anything was sent, 3 when after.
 */
export async function runJob(options: JobOptions, context: Context): Promise<Verdict | undefined> {
  const { table, action, scope } = options;
  const operation = (await table.operations())[action];
  const source = await openInput(context.host, options.input, "<file>");
  const format = options.format ?? formatByName(options.input);
  const rejects = errorsFile(options.errorsOut, context);
  const progress = progressOf(context, action === "map" ? "mapped" : "unmapped");
  const state = { rows: 0, batches: 0, moved: 0, invalid: 0, firstInvalid: undefined as InvalidRow | undefined };

  const onInvalid = async (row: InvalidRow) => {
    state.invalid += 1;
    state.firstInvalid ??= row;
    await rejects.add(row);
    if (!options.skipInvalid) throw new WrongRow(row);
  };
  const send = options.dryRun ? async () => {} : await sender(operation, table, scope, options, context, state);
  const batches = batchesOf(
    rowsOf(source, { format, column: options.column }),
    options.batchSize,
    table.identifier,
    onInvalid,
  );
  try {
    await pump(batches, options.concurrency, async ({ identifiers }) => {
      context.signal.throwIfAborted();
      await send(identifiers);
      state.rows += identifiers.length;
      state.batches += 1;
      progress.add(identifiers.length);
    });
  } catch (error) {
    await progress.end();
    throw error instanceof WrongRow
      ? wrongRow(error.row, state.rows, options)
      : await afterPart(error, state.rows, context);
  } finally {
    await rejects.close();
  }
  await progress.end();

  if (state.rows === 0 && state.invalid === 0) throw new UsageError(`${options.input} holds no rows`);
  await show(options, state, context);
  return state.invalid > 0 ? "partial" : undefined;
}

class WrongRow extends Error {
  readonly row: InvalidRow;
  constructor(row: InvalidRow) {
    super(row.message);
    this.row = row;
  }
}

async function sender(
  operation: Operation,
  table: BulkTable,
  scope: JobOptions["scope"],
  options: JobOptions,
  context: Context,
  state: { moved: number },
): Promise<(identifiers: readonly string[]) => Promise<void>> {
  const client = await context.client("router", { connections: options.concurrency });
  return async (identifiers) => {
    const body = { [table.listField]: identifiers, ...scope };
    const { headers } = await client.send(operation, { body }, { signal: context.signal, repeatable: true });
    state.moved += Number(headers["x-svc-moved"] ?? 0);
  };
}

function wrongRow({ row, input, message }: InvalidRow, sent: number, options: JobOptions): Error {
  const text = `Row ${row} (${input.slice(0, 80)}) is ${message}.`;
  const hint = "Leave such rows out with --skip-invalid, and keep them with --errors-out FILE.";
  if (sent === 0 || options.dryRun) return new UsageError(text, { hint });
  return new CommandFailed("partial", "invalid_row", `${text} ${sent} rows before it are done.`, { hint });
}

async function afterPart(error: unknown, sent: number, { output }: Context): Promise<unknown> {
  if (sent > 0)
    await output.warn(`${sent} rows are done; the same command may be run again: repeating them changes nothing`);
  return error;
}

async function show(
  options: JobOptions,
  state: { rows: number; batches: number; moved: number; invalid: number; firstInvalid: InvalidRow | undefined },
  context: Context,
) {
  const { output } = context;
  const report: JobReport = {
    action: `${options.action}-${options.table.name}`,
    cluster_id: options.scope.cluster_id,
    rows: state.rows,
    batches: state.batches,
    moved: state.moved,
    invalid: state.invalid,
    first_invalid_row: state.firstInvalid?.row ?? null,
  };
  if (output.format !== "table") return output.show(options.dryRun ? { dry_run: true, ...report } : report);
  const verb = options.dryRun ? "Would send" : options.action === "map" ? "Mapped" : "Removed";
  const preposition = options.action === "map" ? "to" : "from";
  await output.raw(
    `${verb} ${state.rows} ${options.table.noun}${state.rows === 1 ? "" : "s"} ${preposition} ${report.cluster_id}\n`,
  );
  if (state.moved > 0) await output.note(`${state.moved} of them were mapped to another cluster before`);
  if (state.invalid > 0) {
    await output.note(
      `${state.invalid} rows skipped: ${state.firstInvalid?.message}, first at row ${state.firstInvalid?.row}`,
    );
  }
}

/** Rows that were left out, as CSV. */
function errorsFile(path: string | undefined, { host }: Context) {
  const stream: WriteStream | undefined =
    path === undefined ? undefined : createWriteStream(resolve(host.cwd, path), { mode: 0o600 });
  stream?.on("error", () => {});
  stream?.write(csvLine(["row", "input", "message"]));
  return {
    async add({ row, input, message }: InvalidRow) {
      stream?.write(csvLine([String(row), input, message]));
    },
    async close() {
      if (!stream) return;
      stream.end();
      await finished(stream).catch((cause: unknown) => {
        throw new CommandFailed("failed", "errors_out", `Failed to write ${path}: ${(cause as Error).message}`, {
          cause,
        });
      });
    },
  };
}
