import { PassThrough } from "node:stream";
import { pluralize } from "../../base/pluralize.ts";
import type { Context } from "../command.ts";
import { CommandFailedError, UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import type { InvalidRow } from "./input/batches.ts";
import { isHeading } from "./input/heading.ts";
import type { InputSource } from "./input/source.ts";
import { type Survey, surveySource } from "./input/survey.ts";
import { parseErrorLimit } from "./limits.ts";
import { invalidResult, resultLine, resultsHeader } from "./log/results.ts";
import type { JobRequest } from "./request.ts";

/** Reads the whole input once, and refuses it before anything is sent when it is empty, or too much of it is wrong. */
export async function surveyInput(request: JobRequest, source: InputSource, context: Context): Promise<Survey> {
  const { work, shard, skip_invalid: skips, max_errors: maxErrors } = request;
  // A job that leaves them out writes them itself, with what else goes wrong.
  const isJob = !request.dryRun && request.planOut === undefined;
  const bad = badRows(skips && isJob ? undefined : request.errorsOut, context);
  const { signal } = context;
  const kind = work.kind(request);
  const survey = await surveySource(source.open(), request, {
    kind,
    batchSize: request.batch_size,
    shard,
    onInvalid: bad.add,
    signal,
  }).catch(bad.leave);
  await bad.close();
  const { all, rows, invalid, firstInvalid } = survey;
  if (all === 0) throw new UsageError(`${work.place}: ${source.name} has no rows`);
  if (invalid === 0 || skips) return survey;
  if (maxErrors !== null && !parseErrorLimit(maxErrors, rows).exceeded(invalid, rows)) return survey;
  throw refusal(request, firstInvalid!, { invalid, rows });
}

function refusal(
  request: JobRequest,
  { number, text, problem }: InvalidRow,
  { invalid, rows }: Pick<Survey, "invalid" | "rows">,
): Error {
  const { work, path, format, columns, errorsOut } = request;
  const share = `${invalid} of ${pluralize(rows, "row")}`;
  const message = `Cannot ${work.action} ${share}: row ${number} (${work.kind(request).shown(text).slice(0, 80)}) is ${problem}. Nothing was sent.`;
  const kept = errorsOut === undefined ? " and save them with --errors-out FILE" : `; they are in ${errorsOut}`;
  const mayBeHeading = format === "csv" && columns.length === 0 && number === 1 && !isHeading(problem);
  const named = mayBeHeading ? ["If that is the heading, select a column with --column NAME."] : [];
  const isOtherColumn = invalid === rows && columns.length > 0;
  const other = isOtherColumn ? ["No row is valid. Select another column with --column NAME."] : [];
  // Left out, nothing or not what is meant would remain.
  const skipped =
    isHeading(problem) || invalid === rows ? [] : [`Skip invalid rows of ${path} with --skip-invalid${kept}.`];
  const hint = [...named, ...other, ...skipped].join(" ");
  return new UsageError(message, { hint: hint || undefined });
}

/** What a survey refuses, as CSV: a file that is whole or not there. */
function badRows(path: string | undefined, { host }: Context) {
  const rows = new PassThrough();
  // Told by who reads it.
  rows.on("error", () => {});
  rows.write(resultsHeader);
  const written = path === undefined ? undefined : writtenTo(host, path, rows);
  // Told when it is closed.
  written?.catch(() => {});
  return {
    add: (row: InvalidRow): void => void (written && rows.write(resultLine(invalidResult(row)))),
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

async function writtenTo(host: Host, path: string, rows: PassThrough): Promise<void> {
  const { writeOutput } = await import("../output/file.ts");
  await writeOutput(host, path, rows, 0o600).catch((cause: Error) => {
    // What stopped the survey is told by itself.
    if (rows.errored) return;
    throw new CommandFailedError("failed", "errors_out", cause.message, {
      hint: (cause as Partial<CommandFailedError>).hint,
      cause,
    });
  });
}
