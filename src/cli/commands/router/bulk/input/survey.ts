import { PassThrough } from "node:stream";
import { pluralize } from "../../../../../base/text.ts";
import type { Context } from "../../../../command.ts";
import { writeOutput } from "../../../../output/file.ts";
import { CommandFailedError, UsageError } from "../../../../process/failure.ts";
import type { Host } from "../../../../process/host.ts";
import { maskBodySecrets } from "../../../../process/redact.ts";
import { parseErrorLimit } from "../flags.ts";
import { formatResultLine, resultsHeader, toInvalidResult } from "../log/results.ts";
import type { JobRequest } from "../plan.ts";
import type { InvalidRow } from "./batches.ts";
import { type Fingerprint, FingerprintedBytes, type InputSource } from "./bytes.ts";
import { IdentifierCounter, type InputShard, isInShare } from "./distinct.ts";
import { isHeading } from "./format.ts";
import type { IdentifierKind } from "./identifiers.ts";
import { type RowReadOptions, readRows } from "./rows.ts";

/** Result of reading an input before anything is sent. */
export interface InputSurvey extends Fingerprint {
  readonly rows: number;
  readonly all: number;
  readonly distinct: number | null;
  readonly calls: number;
  readonly invalid: number;
  readonly firstInvalid: InvalidRow | undefined;
  readonly sample: readonly string[];
}

const maxSampleRows = 3;

interface SurveyOptions {
  readonly kind: IdentifierKind;
  readonly batchSize: number;
  readonly shard: InputShard | null;
  readonly onInvalid: (row: InvalidRow) => void;
  readonly signal: AbortSignal;
}

async function surveySource(
  source: AsyncIterable<Uint8Array>,
  reading: RowReadOptions,
  { kind, batchSize, shard, onInvalid, signal }: SurveyOptions,
): Promise<InputSurvey> {
  const bytes = new FingerprintedBytes(source);
  const groups = readRows(bytes, reading);
  const sample: string[] = [];
  let all = 0;
  let ordinal = 0;
  const distinct = new IdentifierCounter(kind);
  let calls = 0;
  let inBatch = 0;
  let hasValidRow = false;
  const endBatch = () => {
    if (hasValidRow) calls += 1;
    inBatch = 0;
    hasValidRow = false;
  };
  let rows = 0;
  let invalid = 0;
  let firstInvalid: InvalidRow | undefined;
  for await (const { first, texts, problems, empty } of groups) {
    signal.throwIfAborted();
    for (let i = 0; i < texts.length; i += 1) {
      const text = texts[i]!;
      if (text === "") continue;
      all += 1;
      if (!empty?.has(i)) ordinal += 1;
      if (shard && !isInShare(ordinal, shard)) continue;
      rows += 1;
      const problem = problems?.get(i) ?? kind.findProblem(text);
      if (problem !== undefined) {
        const row = { number: first + i, text, problem };
        invalid += 1;
        firstInvalid ??= row;
        onInvalid(row);
      } else {
        hasValidRow = true;
        distinct.add(text);
        if (sample.length < maxSampleRows) sample.push(text);
      }
      if (!empty?.has(i)) inBatch += 1;
      if (inBatch === batchSize) endBatch();
    }
  }
  endBatch();
  return { ...bytes.getFingerprint(), all, rows, distinct: distinct.count, calls, invalid, firstInvalid, sample };
}

export async function fingerprintSource(source: AsyncIterable<Uint8Array>): Promise<Fingerprint> {
  const bytes = new FingerprintedBytes(source);
  for await (const _ of bytes);
  return bytes.getFingerprint();
}

/** Reads the whole input once. Rejects an input that is empty or has too many invalid rows, before anything is sent. */
export async function surveyInput(request: JobRequest, source: InputSource, context: Context): Promise<InputSurvey> {
  const { work, shard, skip_invalid: skipsInvalid, max_errors: maxErrors } = request;
  // A job that skips invalid rows writes them with its other errors.
  const isJob = !request.dryRun && request.planOut === undefined;
  const invalidRows = createInvalidRowWriter(skipsInvalid && isJob ? undefined : request.errorsOut, context);
  const { signal } = context;
  const kind = work.getKind(request);
  const survey = await surveySource(source.open(), request, {
    kind,
    batchSize: request.batch_size,
    shard,
    onInvalid: invalidRows.add,
    signal,
  }).catch(invalidRows.leave);
  await invalidRows.close();
  const { all, rows, invalid, firstInvalid } = survey;
  if (all === 0) throw new UsageError(`${work.place}: ${source.name} has no rows`);
  if (invalid === 0 || skipsInvalid) return survey;
  if (maxErrors !== null && !parseErrorLimit(maxErrors, rows).isExceeded(invalid, rows)) return survey;
  throw findRejection(request, firstInvalid!, { invalid, rows });
}

function findRejection(
  request: JobRequest,
  { number, text, problem }: InvalidRow,
  { invalid, rows }: Pick<InputSurvey, "invalid" | "rows">,
): Error {
  const { work, path, format, columns, errorsOut } = request;
  const share = `${invalid} of ${pluralize(rows, "row")}`;
  const message = `Cannot ${work.action} ${share}: row ${number} (${work.getKind(request).toShown(text).slice(0, 80)}) is ${problem}. Nothing was sent.`;
  const savedNote = errorsOut === undefined ? " and save them with --errors-out FILE" : `; they are in ${errorsOut}`;
  const mayBeHeading = format === "csv" && columns.length === 0 && number === 1 && !isHeading(problem);
  const named = mayBeHeading ? ["If that is the heading, select a column with --column NAME."] : [];
  const isWrongColumn = invalid === rows && columns.length > 0;
  const other = isWrongColumn ? ["No row is valid. Select another column with --column NAME."] : [];
  // Without the invalid rows, the job would send no rows or the wrong ones.
  const skipped =
    isHeading(problem) || invalid === rows ? [] : [`Skip invalid rows of ${path} with --skip-invalid${savedNote}.`];
  const hint = [...named, ...other, ...skipped].join(" ");
  return new UsageError(message, { hint: hint || undefined });
}

/** Prints counts, first rows and the shape of the requests, which are the content of a plan and of a dry run. */
export async function showPreview(
  request: JobRequest,
  { rows, distinct, calls, invalid, firstInvalid, sample }: InputSurvey,
  mark: Readonly<Record<string, unknown>>,
  note: string,
  { output }: Context,
): Promise<undefined> {
  const { work, scope } = request;
  const kind = work.getKind(request);
  const { operation } = work;
  const example = work.toArguments(sample.map(kind.toValue), scope);
  if (output.format !== "table") {
    await output.show({
      ...mark,
      action: work.name,
      cluster_id: scope.cluster_id,
      rows: rows - invalid,
      distinct,
      invalid,
      first_invalid_row: firstInvalid?.number ?? null,
      calls,
      method: operation.method,
      path: operation.path,
      sample: sample.map(kind.toShown),
      body: maskBodySecrets(example.body),
    });
    return undefined;
  }
  const verb = work.action === "map" ? "Would map" : "Would remove";
  const preposition = work.action === "map" ? "to" : "from";
  await output.print(
    `${verb} ${pluralize(rows - invalid, work.noun)} ${preposition} ${scope.cluster_id} in ${pluralize(calls, "call")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sample.map((text) => `  ${kind.toShown(text)}`),
    ...(rows > sample.length ? ["  …"] : []),
  );
  const repeated = rows - invalid - (distinct ?? rows - invalid);
  if (repeated > 0)
    await output.note(`${pluralize(repeated, "row")} repeated: ${pluralize(distinct!, work.noun)} in total`);
  if (invalid > 0)
    await output.note(`${pluralize(invalid, "row")} would be skipped, the first at row ${firstInvalid!.number}`);
  await output.note(note);
  return undefined;
}

function createInvalidRowWriter(path: string | undefined, { host }: Context) {
  const rows = new PassThrough();
  // The reader of the stream reports the error.
  rows.on("error", () => {});
  rows.write(resultsHeader);
  const written = path === undefined ? undefined : writeRowsTo(host, path, rows);
  // `close` reports the error.
  written?.catch(() => {});
  return {
    add: (row: InvalidRow): void => void (written && rows.write(formatResultLine(toInvalidResult(row)))),
    async close(): Promise<void> {
      rows.end();
      await written;
    },
    async leave(error: unknown): Promise<never> {
      rows.destroy(error as Error);
      await written?.catch(() => {});
      throw error;
    },
  };
}

async function writeRowsTo(host: Host, path: string, rows: PassThrough): Promise<void> {
  await writeOutput(host, path, rows, 0o600).catch((cause: Error) => {
    // The survey reports its own error.
    if (rows.errored) return;
    throw new CommandFailedError("failed", "errors_out", cause.message, {
      hint: (cause as Partial<CommandFailedError>).hint,
      cause,
    });
  });
}
