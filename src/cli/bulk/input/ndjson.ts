import { lineRows } from "./lines.ts";
import { OtherFormatError } from "./other-format.ts";
import { matchColumnName } from "./records.ts";
import type { MissingText, RowGroup } from "./row-group.ts";

/** Rows of JSON: a text, or an object with the fields that are named, else its first. */
export async function* ndjsonRows(bytes: AsyncIterable<Buffer>, fields: readonly string[]): AsyncGenerator<RowGroup> {
  for await (const { first, texts: lines } of lineRows(bytes)) {
    const problems = new Map<number, string>();
    const empty = new Set<number>();
    const texts = lines.map((line, i) => {
      if (line === "") return "";
      const found = ndjsonText(line, fields);
      if (typeof found === "string") return found;
      problems.set(i, found.problem);
      if (found.isEmpty) empty.add(i);
      return line;
    });
    yield { first, texts, problems, empty };
  }
}

function ndjsonText(line: string, fields: readonly string[]): string | MissingText {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: "not JSON" };
  }
  if (typeof value === "string") return value.trim() || { problem: "without a string", isEmpty: true };
  const object = (value ?? {}) as Record<string, unknown>;
  const names = Object.keys(object);
  if (fields.length === 0 && names.length > 1 && !Array.isArray(value)) throw severalFields(object, names);
  const texts: string[] = [];
  for (const field of fields.length > 0 ? fields : [names[0] ?? ""]) {
    const found = object[matchColumnName(names, field, fields)];
    const isText = (typeof found === "string" && found.trim() !== "") || typeof found === "number";
    if (!isText) return { problem: `without a string in the field "${field}"` };
    texts.push(String(found).trim());
  }
  return texts.join(" ");
}

const severalFields = (object: Readonly<Record<string, unknown>>, names: readonly string[]): Error =>
  new OtherFormatError(`The objects of the input have several fields: ${names.slice(0, 40).join(", ")}.`, {
    flags: [],
    columns: { first: names, second: names.map((name) => String(object[name])) },
    hint: "Select a field with --column.",
  });
