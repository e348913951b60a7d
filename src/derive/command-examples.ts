import type { Operation, RequestBody } from "../api/operation.ts";
import { isObject, lookupTable } from "../base/object.ts";
import { findPlaceholders } from "../base/urls.ts";
import type { CommandExample, FlagSpec } from "./command-spec.ts";

/**
 * Renders one declared example as a command line: flags, then `--set` for nested fields, or the body from standard
 * input.
 */
export function buildCommandExample(
  words: readonly string[],
  operation: Operation,
  flags: readonly FlagSpec[],
  example: Operation["examples"][number],
): CommandExample {
  const positionals = findPlaceholders(operation.path).map((name) => String(example.params?.[name] ?? `<${name}>`));
  const collectFlagValues = (place: (target: NonNullable<FlagSpec["target"]>) => boolean) =>
    flags.flatMap(({ flag, type, target, isBase64 }): string[] => {
      if (!target || !place(target)) return [];
      const values = example[target.in] as Record<string, unknown> | undefined;
      const value = isObject(values) ? values[target.name] : undefined;
      if (value === undefined || value === null) return [];
      if (type === "switch") return [`--${flag}`];
      if (type === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
      if (isBase64) return [`--${flag}`, `@${findFileName(values)}`];
      return [value].flat().flatMap((one) => [`--${flag}`, String(one)]);
    });
  const covered = new Set(flags.flatMap(({ target }) => (target?.in === "body" ? [target.name] : [])));
  const deeper = isObject(example.body) ? Object.entries(example.body).filter(([name]) => !covered.has(name)) : [];
  const leaves = deeper.flatMap(([name, value]) => listLeaves(value, name));
  const piped =
    example.body === undefined ? undefined : findPipedFlag(operation.request.body, example.body, leaves.length);
  const body = piped
    ? [piped, "-"]
    : [
        ...collectFlagValues(({ in: place }) => place === "body"),
        ...leaves.flatMap(([path, value]) => ["--set", `${path}=${value}`]),
      ];
  const isConfirmedByName = "command" in operation.cli && operation.cli.confirm === "name";
  const confirmed = isConfirmedByName ? ["--confirm", ...positionals.slice(0, 1)] : [];
  return {
    title: example.title,
    argv: [
      ...words,
      ...positionals,
      ...collectFlagValues(({ in: place }) => place !== "body"),
      ...body,
      ...confirmed,
      ...listSavedFields(operation),
    ],
    ...(piped ? { stdin: typeof example.body === "string" ? example.body : JSON.stringify(example.body) } : {}),
  };
}

function listSavedFields({ responses }: Operation): string[] {
  const names = Object.values(responses).flatMap((answer) =>
    answer.kind === "bytes" ? (fileNames[answer.mediaType] ?? []) : [],
  );
  return names.slice(0, 1).flatMap((name) => ["--output", name]);
}

const fileNames = lookupTable<string>({
  "application/pdf": "contract.pdf",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "contract.docx",
});

const findFileName = (values: Readonly<Record<string, unknown>> | undefined): string =>
  String(Object.values(values ?? {}).find((value) => /^[\w-]+\.[a-z]+$/.test(String(value))) ?? "FILE");

/** Finds the flag for a whole body. Raw bytes always have such a flag, other bodies only if they are large. */
function findPipedFlag(declared: RequestBody | undefined, body: unknown, leaves: number): string | undefined {
  if (declared?.kind === "raw" || declared?.kind === "stream") return "--file";
  return leaves > maxAssignments || !isObject(body) ? "--data" : undefined;
}

const maxAssignments = 10;

function listLeaves(value: unknown, path: string): [string, string][] {
  if (isObject(value) || Array.isArray(value)) {
    const inner = Object.entries(value).flatMap(([key, one]) => listLeaves(one, `${path}.${key}`));
    if (inner.length > 0) return inner;
    return [[path, JSON.stringify(value)]];
  }
  return [[path, String(value)]];
}
