import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import type { ResourceName } from "../api/resources.ts";
import { lookupTable } from "../base/lookup-table.ts";
import { isObject } from "../base/object.ts";
import { placeholders } from "../base/url-template.ts";
import type { CommandExample, CommandSpec, FlagSpec, Paged, PositionalSpec } from "./command-spec.ts";
import { fieldNames, hasMoreRules, inputSchema, outputSchema, type ScalarField, scalarFields } from "./fields.ts";
import { pagedOf } from "./paged.ts";

/**
 * Flags with a meaning of their own: the global ones and those of a kind of request or answer. A field of the same
 * name is reached by a longer flag: `--body-data`, `--query-file`.
 */
export const reservedFlags: ReadonlySet<string> = new Set([
  "base-url",
  "emulator",
  "profile",
  "json",
  "fields",
  "format",
  "csv-safe",
  "wide",
  "color",
  "quiet",
  "verbose",
  "debug",
  "timeout",
  "retries",
  "max-wait",
  "input",
  "yes",
  "confirm",
  "dry-run",
  "data",
  "set",
  "file",
  "content-type",
  "output",
  "follow",
  "all",
  "help",
  "version",
]);

/** The commands of all operations as plain data (DECISIONS.md, E9). Total: every kind of input and answer has its place. */
export const deriveCommands = (byResource: ReadonlyMap<ResourceName, readonly Operation[]>): CommandSpec[] =>
  [...byResource].flatMap(([resource, operations]) => operations.map((operation) => commandOf(operation, resource)));

/** The command of one operation. Where a hand-written one stands for it, that one may build on this. */
export function commandOf(operation: Operation, resource: ResourceName): CommandSpec {
  const { request, service, method, path } = operation;
  const isByHand = "by" in operation.cli;
  const cli = "by" in operation.cli ? { command: operation.cli.by } : operation.cli;
  const words = cli.command.split(" ");
  const paged = pagedOf(operation);
  const flags = [...flagsOf(operation), ...(paged ? [allFlag(paged)] : [])];
  const success = successOf(operation);
  return {
    words,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    positionals: positionalsOf(operation),
    flags,
    examples: operation.examples.map((example) => exampleOf(words, operation, flags, example)),
    operation: operation.id,
    resource,
    service: service.name,
    method,
    path,
    auth: operation.auth,
    ...(request.body ? { body: request.body.kind } : {}),
    answers: Object.fromEntries(
      Object.entries(operation.responses).map(([status, answer]) => [status, withoutSchema(answer)]),
    ),
    output: success.kind,
    needsSchema: needsSchemaOf(operation, flags),
    fields:
      success.kind === "json" || success.kind === "events" ? fieldNames(outputSchema(success.schema), cli.rows) : [],
    ...(cli.columns ? { columns: cli.columns } : {}),
    ...(cli.rows === undefined ? {} : { rows: cli.rows }),
    ...(paged ? { paged } : {}),
    ...(cli.confirm ? { confirm: cli.confirm } : {}),
    ...(isByHand ? { byHand: true } : {}),
  };
}

/** `--all`, of a list that answers in parts. */
const allFlag = ({ by, most }: Paged): FlagSpec => ({
  flag: "all",
  type: "switch",
  description: by ? "Every row: asks for one page after the other" : `As many rows as can be had, ${most} at most`,
});

function positionalsOf(operation: Operation): PositionalSpec[] {
  const fields = operation.request.params ? scalarFields(inputSchema(operation.request.params)) : [];
  const path = placeholders(operation.path).map((name): PositionalSpec => {
    const field = fields.find((one) => one.name === name);
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

function withoutSchema(answer: ResponseBody): CommandSpec["answers"][number] {
  const { schema: _, ...rest } = { schema: undefined, ...answer };
  return rest;
}

function needsSchemaOf({ request, path }: Operation, flags: readonly FlagSpec[]): CommandSpec["needsSchema"] {
  const { params, query, headers, body } = request;
  const parts = { params, query, headers };
  if (body && "schema" in body) return "all";
  if (Object.values(parts).some((schema) => schema && hasMoreRules(schema))) return "all";
  const free = (place: keyof typeof parts): ReadonlySet<string> => {
    const schema = parts[place];
    const fields = schema ? scalarFields(inputSchema(schema)) : [];
    return new Set(fields.flatMap(({ name, isFree }) => (isFree ? [name] : [])));
  };
  return [
    ...placeholders(path).filter((name) => !free("params").has(name)),
    ...flags.flatMap(({ flag, target }) =>
      target && target.in !== "body" && !free(target.in).has(target.name) ? [flag] : [],
    ),
  ];
}

function flagsOf(operation: Operation): FlagSpec[] {
  const { query, headers, body } = operation.request;
  const taken = new Set(reservedFlags);
  const place = (where: "query" | "headers" | "body", field: ScalarField): FlagSpec => {
    const kebab = flagWords[field.name] ?? kebabOf(field.name);
    const flag = taken.has(kebab) ? `${where === "headers" ? "header" : where}-${kebab}` : kebab;
    taken.add(flag);
    const { name, type, description, repeatable, required, choices, isBase64 } = field;
    return {
      flag,
      type,
      description,
      ...(repeatable ? { repeatable } : {}),
      ...(isBase64 ? { isBase64, placeholder: "BASE64|@FILE" } : {}),
      ...(required ? { required } : {}),
      ...(choices ? { choices } : {}),
      ...(field.default === undefined ? {} : { default: field.default }),
      target: { in: where, name },
    };
  };
  return [
    ...(query ? scalarFields(inputSchema(query)).map((field) => place("query", field)) : []),
    ...(headers ? scalarFields(inputSchema(headers)).map((field) => place("headers", field)) : []),
    ...(body && "schema" in body ? scalarFields(inputSchema(body.schema)).map((field) => place("body", field)) : []),
    ...wholeBodyFlags(operation),
  ];
}

/** Fields that commands call by a word of their own: one thing, one word, whatever the services say. */
const flagWords = lookupTable<string>({ cluster_id: "cluster" });

/** `filter_priority[$eq]` → `filter-priority-eq` */
const kebabOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/** The flags that a kind of body, answer or method brings. */
function wholeBodyFlags({ service, request, responses, method, cli }: Operation): FlagSpec[] {
  const flags: FlagSpec[] = [];
  if (service.name === "emulator") {
    flags.push({ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" });
  }
  const kind = request.body?.kind;
  if (kind === "json" || kind === "form" || kind === "jsonOrForm") {
    flags.push(
      {
        flag: "data",
        type: "text",
        placeholder: "FILE|-",
        description: "Read the whole body from a JSON file or standard input",
      },
      {
        flag: "set",
        type: "text",
        placeholder: "PATH=VALUE",
        repeatable: true,
        description: "Set one field of the body, at any depth: address.city=Oslo",
      },
    );
  }
  if (kind === "raw" || kind === "stream") {
    flags.push(
      {
        flag: "file",
        type: "text",
        placeholder: "PATH|-",
        description: "Send these bytes unchanged",
        ...(kind === "stream" ? { required: true } : {}),
      },
      { flag: "content-type", type: "text", placeholder: "TYPE", description: "Content type of the bytes" },
    );
  }
  const kinds = Object.values(responses).map((response) => response.kind);
  if (kinds.includes("html") || kinds.includes("bytes")) {
    flags.push({
      flag: "output",
      short: "o",
      type: "text",
      placeholder: "FILE",
      description: "Write the answer to a file",
    });
  }
  if (kinds.includes("events")) {
    flags.push({ flag: "follow", type: "switch", description: "Print events as they come, one JSON document a line" });
  }
  if (method !== "GET") {
    flags.push({ flag: "dry-run", short: "n", type: "switch", description: "Print the request instead of sending it" });
  }
  if ("command" in cli && cli.confirm === "name") {
    flags.push({
      flag: "confirm",
      type: "text",
      placeholder: "NAME",
      description: "Repeat the first argument, to confirm",
    });
  }
  return flags;
}

const showability = ["events", "json", "bytes", "html", "redirect", "passthrough", "empty"] as const;

function successOf({ responses }: Operation): ResponseBody {
  const successes = Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([, response]) => response);
  return successes.sort((a, b) => showability.indexOf(a.kind) - showability.indexOf(b.kind))[0] ?? { kind: "empty" };
}

/** One declared example as a person would type it: flags, then `--set` for what lies deeper, or the body piped in. */
function exampleOf(
  words: readonly string[],
  operation: Operation,
  flags: readonly FlagSpec[],
  example: Operation["examples"][number],
): CommandExample {
  const positionals = placeholders(operation.path).map((name) => String(example.params?.[name] ?? `<${name}>`));
  const fromFlags = (place: (target: NonNullable<FlagSpec["target"]>) => boolean) =>
    flags.flatMap(({ flag, type, target, isBase64 }): string[] => {
      if (!target || !place(target)) return [];
      const values = example[target.in] as Record<string, unknown> | undefined;
      const value = isObject(values) ? values[target.name] : undefined;
      if (value === undefined || value === null) return [];
      if (type === "switch") return [`--${flag}`];
      if (type === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
      if (isBase64) return [`--${flag}`, `@${fileNamedIn(values)}`];
      return [value].flat().flatMap((one) => [`--${flag}`, String(one)]);
    });
  const covered = new Set(flags.flatMap(({ target }) => (target?.in === "body" ? [target.name] : [])));
  const deeper = isObject(example.body) ? Object.entries(example.body).filter(([name]) => !covered.has(name)) : [];
  const leaves = deeper.flatMap(([name, value]) => leavesOf(value, name));
  const piped = example.body === undefined ? undefined : pipedFlag(operation.request.body, example.body, leaves.length);
  const body = piped
    ? [piped, "-"]
    : [
        ...fromFlags(({ in: place }) => place === "body"),
        ...leaves.flatMap(([path, value]) => ["--set", `${path}=${value}`]),
      ];
  const isByName = "command" in operation.cli && operation.cli.confirm === "name";
  const confirmed = isByName ? ["--confirm", ...positionals.slice(0, 1)] : [];
  return {
    title: example.title,
    argv: [...words, ...positionals, ...fromFlags(({ in: place }) => place !== "body"), ...body, ...confirmed],
    ...(piped ? { stdin: typeof example.body === "string" ? example.body : JSON.stringify(example.body) } : {}),
  };
}

/** The file that a request names beside its bytes. */
const fileNamedIn = (values: Readonly<Record<string, unknown>> | undefined): string =>
  String(Object.values(values ?? {}).find((value) => /^[\w-]+\.[a-z]+$/.test(String(value))) ?? "FILE");

/** The flag that takes a body whole: one of raw bytes always, others when there is a lot of it. */
function pipedFlag(declared: RequestBody | undefined, body: unknown, leaves: number): string | undefined {
  if (declared?.kind === "raw" || declared?.kind === "stream") return "--file";
  return leaves > mostAssignments || !isObject(body) ? "--data" : undefined;
}

const mostAssignments = 10;

function leavesOf(value: unknown, path: string): [string, string][] {
  if (isObject(value) || Array.isArray(value)) {
    const inner = Object.entries(value).flatMap(([key, one]) => leavesOf(one, `${path}.${key}`));
    if (inner.length > 0) return inner;
    return [[path, JSON.stringify(value)]];
  }
  return [[path, String(value)]];
}
