import { pluralize } from "../../../../../base/text.ts";
import type { Context } from "../../../../command.ts";
import { writeOutput } from "../../../../output/file.ts";
import { CommandFailedError, UsageError } from "../../../../process/failure.ts";
import { maskBodySecrets } from "../../../../process/redact.ts";
import { formatInvalidRow, resultsHeader } from "../log/result-lines.ts";
import { type JobRequest, parseErrorLimit } from "../plan.ts";
import { groupIntoBatches, IdentifierCounter, type InvalidRow } from "./batches.ts";
import { type InputRow, readRows } from "./rows.ts";
import { type InputSource, trackFingerprint } from "./source.ts";

export type InputSurvey = Awaited<ReturnType<typeof surveyInput>>;

const maxSampleRows = 3;

/** Reads the whole input once. Rejects an input that is empty or has too many invalid rows, before anything is sent. */
export async function surveyInput(request: JobRequest, source: InputSource, { host, signal }: Context) {
  const { work, skip_invalid: skipsInvalid, max_errors: maxErrors } = request;
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

  async function* readInvalidRows(): AsyncGenerator<Buffer> {
    yield Buffer.from(resultsHeader);
    try {
      for await (const { rows, invalid } of groupIntoBatches(readGroups(), { plan: request, kind, counter })) {
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
    await writeOutput(host, errorsOut, readInvalidRows(), 0o600).catch((cause: CommandFailedError) => {
      throw inputError ?? new CommandFailedError("failed", "errors_out", cause.message, { hint: cause.hint, cause });
    });
  }

  const { rows, invalid, firstInvalid } = survey;
  if (!hasRows) throw new UsageError(`${work.source}: ${source.name} has no rows`);
  const isExceeded = maxErrors === null ? () => invalid > 0 : parseErrorLimit(maxErrors, rows);
  if (firstInvalid && !skipsInvalid && isExceeded(invalid, rows)) {
    const row = `row ${firstInvalid.number} (${kind.toShown(firstInvalid.text).slice(0, 80)})`;
    const share = `${invalid} of ${pluralize(rows, "row")}`;
    throw new UsageError(`Cannot ${work.action} ${share}: ${row} is ${firstInvalid.problem}. Nothing was sent.`, {
      hint: suggestRemedy(request, firstInvalid, invalid === rows),
    });
  }
  return { ...survey, ...getFingerprint(), distinct: counter.count, sampleRows };
}

function suggestRemedy(
  { path, format, columns, errorsOut }: JobRequest,
  { number, isHeading }: InvalidRow,
  isNoRowValid: boolean,
): string | undefined {
  const mayBeHeading = format === "csv" && columns.length === 0 && number === 1 && !isHeading;
  const savedNote = errorsOut === undefined ? " and save them with --errors-out FILE" : `; they are in ${errorsOut}`;
  const hints = [
    mayBeHeading && "If that is the heading, select a column with --column NAME.",
    isNoRowValid && columns.length === 1 && "No row is valid. Select another column with --column NAME.",
    // Without the invalid rows, the job would send no rows or the wrong ones.
    !isHeading && !isNoRowValid && `Skip invalid rows of ${path} with --skip-invalid${savedNote}.`,
  ];
  return hints.filter(Boolean).join(" ") || undefined;
}

/** Prints counts, first rows and the shape of the requests, which are the content of a plan and of a dry run. */
export async function showPreview(
  request: JobRequest,
  { rows: allRows, distinct, calls, invalid, firstInvalid, sampleRows }: InputSurvey,
  { output }: Context,
): Promise<undefined> {
  const { work, scope, dryRun, planOut } = request;
  const { name: action, noun, operation } = work;
  const isPlan = !dryRun && planOut !== undefined;
  const kind = work.getKind(request);
  const rows = allRows - invalid;
  const sample = sampleRows.map(kind.toShown);
  if (output.format !== "table") {
    await output.show({
      ...(isPlan ? { plan: planOut } : { dry_run: true }),
      ...{ action, cluster_id: scope.cluster_id, rows, distinct, invalid },
      first_invalid_row: firstInvalid?.number ?? null,
      ...{ calls, method: operation.method, path: operation.path, sample },
      body: maskBodySecrets(work.toArguments(sampleRows.map(kind.toValue), scope).body),
    });
    return undefined;
  }
  const target = work.action === "map" ? `to ${scope.cluster_id}` : `from ${scope.cluster_id}`;
  await output.print(
    `Would ${work.action === "map" ? "map" : "remove"} ${pluralize(rows, distinct === null ? "row" : noun)} ${target} in ${pluralize(calls, "request")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sample.map((text) => `  ${text}`),
    ...(allRows > sample.length ? ["  …"] : []),
  );
  const repeated = rows - (distinct ?? rows);
  if (repeated > 0)
    await output.note(`${pluralize(repeated, "row")} repeated: ${pluralize(rows - repeated, noun)} in total`);
  if (firstInvalid)
    await output.note(`${pluralize(invalid, "row")} would be skipped, the first at row ${firstInvalid.number}`);
  await output.note(isPlan ? `Planned in ${planOut}` : "Dry run: nothing was sent");
  return undefined;
}
