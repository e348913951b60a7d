import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import { isObject, lookupTable } from "../base/object.ts";
import { findPlaceholders } from "../base/urls.ts";
import { deriveFlags } from "./command-flags.ts";
import type { CommandExample, CommandSpec, FlagSpec, PositionalSpec } from "./command-spec.ts";
import {
  derivePaging,
  hasMoreRules,
  listFieldNames,
  listScalarFields,
  toInputSchema,
  toOutputSchema,
} from "./fields.ts";

/**
 * Derives the command of one operation as plain data (DECISIONS.md, E9). Every kind of input and response is supported.
 * A hand-written command that replaces it can build on the result.
 */
export function deriveCommand(operation: Operation, resource: ResourceName): CommandSpec {
  const { id, summary, service, method, path, auth, request, responses } = operation;
  const { description, maxDurationMs, unknownIsIn, hidesMissing } = operation;
  const cli = "by" in operation.cli ? { command: operation.cli.by } : operation.cli;
  const { columns, rows, confirm } = cli;
  const words = cli.command.split(" ");
  const flags = deriveFlags(operation);
  const success = findSuccess(operation);
  return {
    ...{ words, summary, description, flags, columns, rows, confirm, maxDurationMs, unknownIsIn, hidesMissing },
    ...{ id, resource, service: { name: service.name }, method, path, auth },
    positionals: derivePositionals(operation),
    examples: operation.examples.map((example) => buildCommandExample(words, operation, flags, example)),
    request: request.body ? { body: { kind: request.body.kind } } : {},
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, answer]) => {
        const { schema: _, ...rest } = { schema: undefined, ...answer };
        return [status, rest];
      }),
    ),
    output: success.kind,
    schemaChecked: deriveNeedsSchema(operation, flags),
    fields:
      success.kind === "json" || success.kind === "events" ? listFieldNames(toOutputSchema(success.schema), rows) : [],
    paging: derivePaging(operation),
  };
}

function derivePositionals(operation: Operation): PositionalSpec[] {
  const fields = operation.request.params ? listScalarFields(toInputSchema(operation.request.params)) : [];
  const path = findPlaceholders(operation.path).map((name): PositionalSpec => {
    const field = fields.find((field) => field.name === name);
    return {
      name,
      description: field?.description ?? "",
      type: field === undefined || field.type === "switch" ? "text" : field.type,
      ...(field?.choices ? { choices: field.choices } : {}),
    };
  });
  if (typeof operation.method === "string") return path;
  return [{ name: "method", description: "HTTP method", choices: operation.method }, ...path];
}

function deriveNeedsSchema({ request, path }: Operation, flags: readonly FlagSpec[]): CommandSpec["schemaChecked"] {
  const { params, query, headers, body } = request;
  const parts = { params, query, headers };
  if (body && "schema" in body) return "all";
  if (Object.values(parts).some((schema) => schema && hasMoreRules(schema))) return "all";
  const findFreeName = (place: keyof typeof parts): ReadonlySet<string> => {
    const schema = parts[place];
    const fields = schema ? listScalarFields(toInputSchema(schema)) : [];
    return new Set(fields.flatMap(({ name, isFree }) => (isFree ? [name] : [])));
  };
  return [
    ...findPlaceholders(path).filter((name) => !findFreeName("params").has(name)),
    ...flags.flatMap(({ flag, target }) =>
      target && target.in !== "body" && !findFreeName(target.in).has(target.name) ? [flag] : [],
    ),
  ];
}

const kindsByPriority = ["events", "json", "bytes", "html", "redirect", "passthrough", "empty"] as const;

function findSuccess({ responses }: Operation): ResponseBody {
  const successes = Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([, response]) => response);
  return (
    successes.sort((a, b) => kindsByPriority.indexOf(a.kind) - kindsByPriority.indexOf(b.kind))[0] ?? { kind: "empty" }
  );
}

/**
 * Renders one declared example as a command line: flags, then `--set` for nested fields, or the body from standard
 * input.
 */
function buildCommandExample(
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
