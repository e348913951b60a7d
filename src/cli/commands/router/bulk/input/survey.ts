import { pluralize } from "../../../../../base/text.ts";
import type { Context } from "../../../../command.ts";
import { writeOutput } from "../../../../output/file.ts";
import { CommandFailedError, UsageError } from "../../../../process/failure.ts";
import { maskBodySecrets } from "../../../../process/redact.ts";
import { parseErrorLimit } from "../flags.ts";
import { FinishedBatches } from "../log/log-file.ts";
import { formatInvalidRow, resultsHeader } from "../log/results.ts";
import type { JobRequest } from "../plan.ts";
import { groupIntoBatches, type InvalidRow } from "./batches.ts";
import { type Fingerprint, type InputSource, trackFingerprint } from "./bytes.ts";
import { IdentifierCounter, selectShare } from "./distinct.ts";
import { isHeading } from "./format.ts";
import type { InputRow } from "./records.ts";
import { readRows } from "./rows.ts";

/** Result of reading an input before anything is sent. */
export type InputSurvey = Awaited<ReturnType<typeof surveyInput>>;

const maxSampleRows = 3;

export async function fingerprintSource(source: AsyncIterable<Uint8Array>): Promise<Fingerprint> {
  const { read, getFingerprint } = trackFingerprint(source);
  for await (const _ of read());
  return getFingerprint();
}

/** Reads the whole input once. Rejects an input that is empty or has too many invalid rows, before anything is sent. */
export async function surveyInput(request: JobRequest, source: InputSource, context: Context) {
  const { work, shard, batch_size: size, skip_invalid: skipsInvalid, max_errors: maxErrors } = request;
  const { host, signal } = context;
  const kind = work.getKind(request);
  const counter = new IdentifierCounter(kind);
  const { read, getFingerprint } = trackFingerprint(source.open());
  const survey = { rows: 0, calls: 0, invalid: 0, firstInvalid: undefined as InvalidRow | undefined };
  const sampleRows: string[] = [];
  let hasRows = false;
  let inputError: unknown;

  async function* readGroups(): AsyncGenerator<InputRow[]> {
    for await (const rows of readRows(read(), request)) {
      signal.throwIfAborted();
      hasRows ||= rows.length > 0;
      yield rows;
    }
  }

  /** Yields the invalid rows as results. */
  async function* readInvalidRows(): AsyncGenerator<Buffer> {
    yield Buffer.from(resultsHeader);
    const groups = shard ? selectShare(readGroups(), shard) : readGroups();
    const options = { size, kind, counter, finished: new FinishedBatches(), hasRollingDigest: false };
    try {
      for await (const { rows, invalid } of groupIntoBatches(groups, options)) {
        survey.rows += rows.length + invalid.length;
        survey.invalid += invalid.length;
        survey.firstInvalid ??= invalid[0];
        if (rows.length > 0) survey.calls += 1;
        sampleRows.push(...rows.slice(0, maxSampleRows - sampleRows.length).map(({ text }) => text));
        if (invalid.length > 0) yield Buffer.from(invalid.map(formatInvalidRow).join(""));
      }
    } catch (error) {
      inputError = error;
      throw error;
    }
  }

  // A job that skips invalid rows writes them with its other errors.
  const isJob = !request.dryRun && request.planOut === undefined;
  const errorsOut = skipsInvalid && isJob ? undefined : request.errorsOut;
  if (errorsOut === undefined) for await (const _ of readInvalidRows());
  else {
    await writeOutput(host, errorsOut, readInvalidRows(), 0o600).catch((cause: Error) => {
      const { hint } = cause as Partial<CommandFailedError>;
      throw inputError ?? new CommandFailedError("failed", "errors_out", cause.message, { hint, cause });
    });
  }

  const { rows, invalid, firstInvalid } = survey;
  if (!hasRows) throw new UsageError(`${work.source}: ${source.name} has no rows`);
  if (
    invalid > 0 &&
    !skipsInvalid &&
    (maxErrors === null || parseErrorLimit(maxErrors, rows).isExceeded(invalid, rows))
  )
    throw findRejection(request, firstInvalid!, { invalid, rows });
  return { ...survey, ...getFingerprint(), distinct: counter.count, sampleRows };
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
  const headingHints = mayBeHeading ? ["If that is the heading, select a column with --column NAME."] : [];
  const isWrongColumn = invalid === rows && columns.length > 0;
  const columnHints = isWrongColumn ? ["No row is valid. Select another column with --column NAME."] : [];
  // Without the invalid rows, the job would send no rows or the wrong ones.
  const skipHints =
    isHeading(problem) || invalid === rows ? [] : [`Skip invalid rows of ${path} with --skip-invalid${savedNote}.`];
  const hint = [...headingHints, ...columnHints, ...skipHints].join(" ");
  return new UsageError(message, { hint: hint || undefined });
}

/** Prints counts, first rows and the shape of the requests, which are the content of a plan and of a dry run. */
export async function showPreview(
  request: JobRequest,
  { rows, distinct, calls, invalid, firstInvalid, sampleRows }: InputSurvey,
  mark: Readonly<Record<string, unknown>>,
  note: string,
  { output }: Context,
): Promise<undefined> {
  const { work, scope } = request;
  const kind = work.getKind(request);
  const { operation } = work;
  const example = work.toArguments(sampleRows.map(kind.toValue), scope);
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
      sample: sampleRows.map(kind.toShown),
      body: maskBodySecrets(example.body),
    });
    return undefined;
  }
  const verb = work.action === "map" ? "Would map" : "Would remove";
  const preposition = work.action === "map" ? "to" : "from";
  await output.print(
    `${verb} ${pluralize(rows - invalid, work.noun)} ${preposition} ${scope.cluster_id} in ${pluralize(calls, "call")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sampleRows.map((text) => `  ${kind.toShown(text)}`),
    ...(rows > sampleRows.length ? ["  …"] : []),
  );
  const repeatedCount = rows - invalid - (distinct ?? rows - invalid);
  if (repeatedCount > 0)
    await output.note(`${pluralize(repeatedCount, "row")} repeated: ${pluralize(distinct!, work.noun)} in total`);
  if (invalid > 0)
    await output.note(`${pluralize(invalid, "row")} would be skipped, the first at row ${firstInvalid!.number}`);
  await output.note(note);
  return undefined;
}
