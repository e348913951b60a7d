import { pluralize } from "../../base/pluralize.ts";
import type { Context } from "../command.ts";
import { maskBodySecrets } from "../connection/redact.ts";
import type { Survey } from "./input/survey.ts";
import type { JobRequest } from "./request.ts";

/** Counts, first rows and the shape of the calls: what a plan and a dry run tell. */
export async function showPreview(
  request: JobRequest,
  { rows, distinct, calls, invalid, firstInvalid, sample }: Survey,
  mark: Readonly<Record<string, unknown>>,
  note: string,
  { output }: Context,
): Promise<undefined> {
  const { work, scope } = request;
  const kind = work.kind(request);
  const operation = await work.operation();
  const example = work.call(sample.map(kind.value), scope);
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
      sample: sample.map(kind.shown),
      body: maskBodySecrets(example.body),
    });
    return undefined;
  }
  const verb = work.action === "map" ? "Would map" : "Would remove";
  const preposition = work.action === "map" ? "to" : "from";
  await output.print(
    `${verb} ${pluralize(rows - invalid, work.noun)} ${preposition} ${scope.cluster_id} in ${pluralize(calls, "call")}`,
    `${[operation.method].flat().join("|")} ${operation.path}`,
    ...sample.map((text) => `  ${kind.shown(text)}`),
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
