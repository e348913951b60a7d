import type { JobRequest } from "../request.ts";
import { isHeadingText } from "./heading.ts";
import type { IdentifierKind } from "./identifiers.ts";
import type { OtherFormatError } from "./other-format.ts";

/** The command line, after `svc`, that reads an input as it is written. */
export function buildRetryArgv(request: JobRequest, { reading }: OtherFormatError): string[] {
  const { work, path, scope, columns, hash, format, format_guessed } = request;
  const { cluster_id: cluster = "", integration_type: type } = scope;
  const isOffboard = work.action === "offboard";
  const names = (flag: string) => reading.flags.includes(flag);
  const column = columns[0] ?? (reading.columns && columnOf(reading.columns, work.kind(request)));
  return [
    ...["router", work.name],
    ...(isOffboard ? [cluster, "--from", path] : [path]),
    ...(isOffboard || column === undefined || names("--column") ? [] : ["--column", column]),
    ...(format_guessed || names("--input-format") ? [] : ["--input-format", format]),
    ...reading.flags,
    ...(isOffboard ? [] : ["--cluster", cluster]),
    ...(type === undefined ? [] : ["--integration-type", type]),
    ...(hash === "none" ? ["--hash", hash] : []),
  ];
}

/** The column that seems to be meant: by what its cells hold, else by its heading. */
function columnOf(
  { first, second }: { readonly first: readonly string[]; readonly second: readonly string[] },
  { noun, problem }: IdentifierKind,
): string {
  const fits = (cell: string | undefined) =>
    cell !== undefined && cell.trim() !== "" && problem(cell.trim()) === undefined;
  if (noun === "e-mail") {
    const ofData = first.findIndex(fits);
    if (ofData >= 0) return String(ofData + 1);
    const place = second.findIndex(fits);
    if (place >= 0) return first[place]!.trim();
  }
  const named = first.filter((cell) => isHeadingText(cell.trim()));
  const ofKind = named.find((cell) => cell.toLowerCase().includes(noun.split(" ")[0]!.replace("-", "")));
  return (ofKind ?? named[0] ?? "NAME").trim();
}
