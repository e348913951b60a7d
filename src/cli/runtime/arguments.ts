import type { CallableOperation } from "../../api/operation.ts";
import { isObject } from "../../base/object.ts";
import { findPlaceholders } from "../../base/urls.ts";
import type { CallArguments } from "../../client/checked-call.ts";
import type { ArgumentProblem } from "../../client/errors.ts";
import type { CommandSpec, FlagSpec } from "../../derive/command-spec.ts";
import {
  applyTypedAssignments,
  openInput,
  parseAssignment,
  readDocument,
  readInput,
  readSecret,
} from "../parse/body.ts";
import type { CommandInput } from "../parse/declaration.ts";
import { createMissingFieldsError, InputRequiredError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";

/** Flags override `--set`, and `--set` overrides `--data` (DECISIONS.md, L22). */
export async function buildArguments(spec: CommandSpec, operation: CallableOperation, input: CommandInput, host: Host) {
  const { contentType, ...body } = await createBody(spec, operation, input, host);
  const params = Object.fromEntries(findPlaceholders(spec.path).map((name) => [name, input.positionals[name]]));
  const query = selectByTarget(spec.flags, input, "query");
  const headers = selectByTarget(spec.flags, input, "headers") as Record<string, string>;
  const args: CallArguments = { params, query, headers, ...body };
  return { contentType, args };
}

function selectByTarget(flags: readonly FlagSpec[], input: CommandInput, part: "query" | "headers" | "body") {
  return Object.fromEntries(
    flags.flatMap(({ flag, target }) =>
      target?.in === part && input.flags[flag] !== undefined ? [[target.name, input.flags[flag]]] : [],
    ),
  );
}

async function createBody(spec: CommandSpec, operation: CallableOperation, input: CommandInput, host: Host) {
  const bodySpec = operation.request.body;
  const file = input.flags.file as string | undefined;
  const contentType = input.flags["content-type"] as string | undefined;
  if (bodySpec === undefined) return {};
  if (bodySpec.kind === "stream") return { body: await openInput(host, file!, "--file"), contentType };
  if (bodySpec.kind === "raw") {
    if (file === undefined) return {};
    const body = await readInput(host, file, "--file");
    return { body, contentType: contentType ?? detectContentType(body) };
  }
  const data = input.flags.data as string | undefined;
  const document = data === undefined ? undefined : await readDocument(host, data, "--data");
  const assignments = ((input.flags.set as string[] | undefined) ?? []).map((text) => parseAssignment(text));
  const flags = { ...selectByTarget(spec.flags, input, "body"), ...(await readFileFields(spec.flags, input, host)) };
  if (document !== undefined && !isObject(document)) {
    if (assignments.length > 0 || Object.keys(flags).length > 0) {
      throw new UsageError("--data must be a JSON object if other options set fields");
    }
    return { body: document };
  }
  const assignedBody = applyTypedAssignments(bodySpec.schema, document ?? {}, assignments) as Record<string, unknown>;
  return { body: { ...assignedBody, ...flags } };
}

/** Reads the fields whose flags name a file: base64 as `@FILE`, and secrets. */
async function readFileFields(flags: readonly FlagSpec[], input: CommandInput, host: Host) {
  const fields: [name: string, text: string][] = [];
  for (const { flag, isBase64, holds, target } of flags) {
    const value = input.flags[flag];
    if (typeof value !== "string") continue;
    if (isBase64 && target && value.startsWith("@")) {
      fields.push([target.name, (await readInput(host, value.slice(1), `--${flag}`)).toString("base64")]);
    } else if (holds !== undefined) {
      if (input.flags[holds] !== undefined) throw new UsageError(`--${flag} cannot be used with --${holds}`);
      const secretFlag = flags.find((spec) => spec.flag === holds)!;
      fields.push([secretFlag.target!.name, await readSecret(host, value, `--${flag}`, `the value of --${holds}`)]);
    }
  }
  return Object.fromEntries(fields);
}

function detectContentType(bytes: Buffer): string {
  const start = bytes.subarray(0, 200).toString("latin1").trimStart();
  if (start.startsWith("{") || start.startsWith("[")) return "application/json";
  return /^[\w.~%-]+=/.test(start) ? "application/x-www-form-urlencoded" : "application/octet-stream";
}

/** Rewords validation problems of the client with the names of flags and positionals. */
export function toUsageError(
  spec: CommandSpec,
  problems: readonly ArgumentProblem[],
  { flags }: Pick<CommandInput, "flags">,
) {
  const lines = problems.map(({ in: part, path, message, missing, rule }) => {
    const flag = spec.flags.find(({ target }) => target?.in === part && target.name === path[0]);
    const isWhole = path.length === 1 && flag !== undefined;
    if (part === "params") return describeProblem(`<${String(path[0]).replaceAll("_", "-")}>`, message);
    if (isWhole && missing) return `--${flag.flag}${part === "body" ? " (or in --data)" : ""}`;
    if (isWhole) return describeProblem(`--${flag.flag}`, message, flags[flag.flag]);
    const items = flag && flags[flag.flag];
    if (Array.isArray(items) && path.length === 2)
      return describeProblem(`--${flag!.flag}`, message, items[Number(path[1])]);
    if (rule !== undefined) return nameFlags(spec, rule);
    if (path.length === 0) return describeProblem("the body", message);
    return missing
      ? `${path.join(".")} (--set ${path.join(".")}=…, or in --data)`
      : describeProblem(path.join("."), message);
  });
  const error = createUsageError(problems, lines);
  const alternatives = problems.map((problem) => findRequiredFlags(spec, problem));
  const isInDocument = flags.data !== undefined || flags.set !== undefined;
  return isInDocument || alternatives.some(({ length }) => length === 0)
    ? error
    : new InputRequiredError(alternatives[0]!, error.message, error);
}

/** Finds the flags of which one supplies the missing input. Returns an empty list for any other problem. */
function findRequiredFlags({ flags }: CommandSpec, { in: part, path, missing, rule }: ArgumentProblem): string[] {
  const names: readonly unknown[] = rule !== undefined ? findPlaceholders(rule) : path.length === 1 ? path : [];
  return flags.flatMap(({ flag, target }) =>
    missing && target?.in === part && names.includes(target.name) ? [flag] : [],
  );
}

function createUsageError(problems: readonly ArgumentProblem[], lines: readonly string[]): UsageError {
  const isMissing = ({ in: part, missing, path }: ArgumentProblem) => missing && part !== "params" && path.length > 0;
  if (problems.every(isMissing)) return createMissingFieldsError(lines);
  const completeLines = lines.map((line, i) =>
    isMissing(problems[i]!) ? line.replace(/^(\S+)/, "$1 is required") : line,
  );
  if (completeLines.length === 1) return new UsageError(completeLines[0]!);
  return new UsageError("Several values are invalid:", { details: completeLines });
}

/** Formats `--by must be a duration (PT2H35M, 2h35m), got "soon"`. Other schema messages follow a colon. */
function describeProblem(name: string, message: string, value?: unknown): string {
  if (!/^(?:must|is) /.test(message)) return `${name}: ${message}`;
  if (!message.startsWith("must be ")) return `${name} ${message}`;
  return `${name} ${message}${typeof value === "string" || typeof value === "number" ? `, got "${value}"` : ""}`;
}

const nameFlags = ({ flags }: CommandSpec, rule: string): string =>
  rule.replace(/\{(\w+)\}/g, (_, name) => {
    const spec = flags.find(({ target }) => target?.name === name);
    return spec === undefined ? name : `--${spec.flag}`;
  });
