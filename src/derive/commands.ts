import type { Operation, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import { findPlaceholders } from "../base/urls.ts";
import { buildCommandExample } from "./command-examples.ts";
import { deriveFlags } from "./command-flags.ts";
import type { CommandSpec, FlagSpec, PositionalSpec } from "./command-spec.ts";
import {
  derivePaging,
  hasMoreRules,
  listFieldNames,
  listScalarFields,
  toInputSchema,
  toOutputSchema,
} from "./fields.ts";

/**
 * Derives the commands of all operations as plain data (DECISIONS.md, E9). Every kind of input and response is
 * supported.
 */
export const deriveCommands = (byResource: ReadonlyMap<ResourceName, readonly Operation[]>): CommandSpec[] =>
  [...byResource].flatMap(([resource, operations]) =>
    operations.map((operation) => deriveCommand(operation, resource)),
  );

/** Derives the command of one operation. A hand-written command that replaces it can build on the result. */
export function deriveCommand(operation: Operation, resource: ResourceName): CommandSpec {
  const { request, service, method, path } = operation;
  const isByHand = "by" in operation.cli;
  const cli = "by" in operation.cli ? { command: operation.cli.by } : operation.cli;
  const words = cli.command.split(" ");
  const paging = derivePaging(operation);
  const flags = deriveFlags(operation);
  const success = findSuccess(operation);
  return {
    words,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    positionals: derivePositionals(operation),
    flags,
    examples: operation.examples.map((example) => buildCommandExample(words, operation, flags, example)),
    operation: operation.id,
    resource,
    service: service.name,
    method,
    path,
    auth: operation.auth,
    ...(request.body ? { body: request.body.kind } : {}),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, answer]) => [status, omitSchema(answer)]),
    ),
    ...(operation.maxDurationMs === undefined ? {} : { maxDurationMs: operation.maxDurationMs }),
    output: success.kind,
    schemaChecked: deriveNeedsSchema(operation, flags),
    fields:
      success.kind === "json" || success.kind === "events"
        ? listFieldNames(toOutputSchema(success.schema), cli.rows)
        : [],
    ...(cli.columns ? { columns: cli.columns } : {}),
    ...(cli.rows === undefined ? {} : { rows: cli.rows }),
    ...(paging ? { paging } : {}),
    ...(cli.confirm ? { confirm: cli.confirm } : {}),
    ...(operation.unknownIsIn === undefined ? {} : { unknownIsIn: operation.unknownIsIn }),
    ...(operation.hidesMissing ? { hidesMissing: true } : {}),
    ...(isByHand ? { byHand: true } : {}),
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

function omitSchema(answer: ResponseBody): CommandSpec["responses"][number] {
  const { schema: _, ...rest } = { schema: undefined, ...answer };
  return rest;
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
