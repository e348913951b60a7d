import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { counted } from "../../base/counted.ts";
import type { Context } from "../command.ts";
import { CommandFailed, UsageError } from "../failure.ts";
import { existingFile, openInput } from "../parse/body.ts";
import type { InvalidRow } from "./input/batches.ts";
import { fileBytes } from "./input/bytes.ts";
import { type Survey, surveyOf } from "./input/survey.ts";
import { parseLimit } from "./limits.ts";
import { invalidResult, resultLine, resultsHeader } from "./log/results.ts";
import type { JobRequest } from "./request.ts";

/** Reads the whole input once, and refuses it before anything is sent when it is empty, or too much of it is wrong. */
export async function surveyInput(request: JobRequest, context: Context): Promise<Survey> {
  const { path, work, format, columns, shard, skip_invalid: skips, max_errors: maxErrors } = request;
  const { host, signal } = context;
  // A job that leaves them out writes them itself, with what else goes wrong.
  const isJob = !request.dryRun && request.planOut === undefined;
  const bad = badRows(skips && isJob ? undefined : request.errorsOut, context);
  const source =
    path === "-" ? await openInput(host, path, work.place) : fileBytes(await existingFile(host, path, work.place));
  const survey = await surveyOf(source, { format, columns }, { work, shard, onInvalid: bad.add, signal });
  await bad.close();
  const { all, rows, invalid, firstInvalid } = survey;
  if (all === 0) throw new UsageError(`${work.place}: ${path} holds no rows`);
  if (invalid === 0 || skips) return survey;
  if (maxErrors !== null && !parseLimit(maxErrors, rows).exceeded(invalid, rows)) return survey;
  throw refusal(request, firstInvalid!, `${invalid} of ${counted(rows, "row")}`);
}

function refusal(
  { work, path, format, columns, errorsOut }: JobRequest,
  { number, text, problem }: InvalidRow,
  share: string,
): Error {
  const message = `Couldn't ${work.action} ${share}: row ${number} (${work.shown(text).slice(0, 80)}) is ${problem}. Nothing was sent.`;
  const kept = errorsOut === undefined ? " and keep them with --errors-out FILE" : `; they are in ${errorsOut}`;
  const mayBeHeading = format === "csv" && columns.length === 0 && number === 1 && !problem.includes("--column");
  const named = mayBeHeading ? "Is that the heading? Then name the column that is meant: --column NAME. " : "";
  return new UsageError(message, { hint: `${named}Leave such rows of ${path} out with --skip-invalid${kept}.` });
}

/** What a survey refuses, as CSV. */
function badRows(path: string | undefined, { host }: Context) {
  const stream = path === undefined ? undefined : createWriteStream(resolve(host.cwd, path), { mode: 0o600 });
  stream?.on("error", () => {});
  stream?.write(resultsHeader);
  return {
    add: (row: InvalidRow): void => void stream?.write(resultLine(invalidResult(row))),
    async close(): Promise<void> {
      if (!stream) return;
      stream.end();
      await finished(stream).catch((cause: unknown) => {
        const message = `Failed to write ${path}: ${(cause as Error).message}`;
        throw new CommandFailed("failed", "errors_out", message, { cause });
      });
    },
  };
}
