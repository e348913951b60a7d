import type { CallableOperation, Operation } from "../../api/operation.ts";
import { resources } from "../../api/resources.ts";
import { toPlainNumbers } from "../../base/json.ts";
import { isObject } from "../../base/object.ts";
import { pluralize } from "../../base/text.ts";
import { type CallArguments, CheckedCall, findProblems } from "../../client/checked-call.ts";
import type { Client } from "../../client/client.ts";
import { type ArgumentProblem, InvalidArgumentsError, InvalidResponseError } from "../../client/errors.ts";
import type { Credentials } from "../../client/published.d.ts";
import { type ApiResponse, getBodyKind, requireValidValue } from "../../client/response.ts";
import type { CommandSpec, Paging } from "../../derive/command-spec.ts";
import { findBearerToken } from "../auth/accounts.ts";
import type { Context } from "../command.ts";
import { describeDroppedEvents, reportStreamEnd } from "../connection/follow.ts";
import { printPlan } from "../connection/http.ts";
import { maskReturnedSecrets } from "../output/ci.ts";
import { describeEmptyResult } from "../output/empty-result.ts";
import {
  checkOutputFile,
  createEmptyResponseError,
  getDocumentBytes,
  rejectBytesOnTerminal,
  writeOutput,
} from "../output/file.ts";
import { checkFields, pickFields } from "../output/output.ts";
import type { CommandInput } from "../parse/declaration.ts";
import { findMisspeltFields } from "../parse/suggestions.ts";
import { type FailureKind, InputRequiredError } from "../process/failure.ts";
import { confirmName, confirmYes, withSpinner } from "../prompt/terminal.ts";
import { buildArguments, toUsageError } from "./arguments.ts";
import { buildFirstPageQuery, describePastEnd, fetchAllPages, reportMoreRows } from "./paging.ts";

/** Builds the request of an operation from the input, sends it, and prints the response. */
export async function runDerivedCommand(
  spec: CommandSpec,
  input: CommandInput,
  context: Context,
  changes: RequestChanges = {},
): Promise<FailureKind | undefined> {
  const request = await prepareRequest(spec, input, context, changes);
  if (request !== "dry-run") await request.send();
  return undefined;
}

/** Request that is checked, confirmed and ready to send. */
export interface PreparedRequest<Value = unknown> {
  readonly call: CheckedCall;
  readonly client: Client;
  send(call?: CheckedCall): Promise<ApiResponse<Value>>;
}

interface RequestChanges {
  /** Query parameters that are merged with those of the flags. The flags take precedence. */
  readonly query?: Readonly<Record<string, string | readonly string[] | boolean>>;
  /** Adds input that depends on the whole checked request, such as the headers of a signature. */
  readonly sign?: (call: CheckedCall) => Promise<CheckedCall> | CheckedCall;
  readonly credentials?: Credentials;
  /** Whether the command reads the fields of the response. Throws InvalidResponseError if they are missing. */
  readonly reads?: boolean;
  /** Replaces the declared prompt, if the prompt depends on the whole request. */
  readonly confirm?: (call: CheckedCall) => Promise<void>;
  /** Throws if a successful response reports that nothing was done. */
  readonly check?: (response: ApiResponse, call: CheckedCall) => void;
  /** Formats the result for users at a terminal, for responses without information. */
  readonly formatOutcome?: (call: CheckedCall) => string;
}

/**
 * Performs all local checks. Under --dry-run, prints the request instead of preparing it. `Value` is the declared
 * response, for callers that validate it with `reads`.
 */
export async function prepareRequest<Value = unknown>(
  spec: CommandSpec,
  input: CommandInput,
  context: Context,
  changes: RequestChanges = {},
): Promise<PreparedRequest<Value> | "dry-run"> {
  const { globals, output, host } = context;
  const { sign, credentials, reads, confirm, check, formatOutcome } = changes;
  const { flags } = input;
  const { paging } = spec;
  // The parser does not check the values that a signature adds.
  const needsSchemas = sign !== undefined || reads === true || mustValidate(spec, input);
  const operation = needsSchemas ? await loadOperation(spec) : spec;
  for (const { flag, isSecret } of spec.flags) {
    const isArgument = context.argv.some((word) => word === `--${flag}` || word.startsWith(`--${flag}=`));
    if (!isSecret || !isArgument) continue;
    await output.warn(`warning: other users can read --${flag} on the command line; use --${flag}-file FILE|-`);
  }
  const { call, contentType } = await buildCall(spec, operation, input, context, changes);

  await checkOutput(spec, input, context);
  if (flags["dry-run"] === true) {
    await printPlan(call, contentType, context, credentials);
    return "dry-run";
  }
  await (confirm ? confirm(call) : confirmCommand(spec, input, context));

  const service = operation.service.name === "storage" ? "contracts" : operation.service.name;
  const bearer = operation.auth === "bearer" ? await findBearerToken(context) : undefined;
  const client = await context.client(service, {
    credentials: bearer === undefined ? credentials : { bearer, ...credentials },
    ...(service === "emulator" ? { file: flags.file as string | undefined } : {}),
  });
  // An emulator validates its own responses and includes its time in each response. The schemas take longer to load
  // than most commands.
  const isCompared = (headers: ApiResponse["headers"]) =>
    globals.verbose || !(globals.quiet || service === "emulator" || "x-svc-time" in headers);
  return {
    call,
    client,
    async send(changedCall = call) {
      const options = {
        contentType,
        // An event stream can be silent for a long time.
        silenceMs: spec.output === "events" ? 0 : undefined,
        onMissed: (count: number | undefined) => void output.note(describeDroppedEvents(count)),
        declaration: (headers: ApiResponse["headers"]) =>
          !needsSchemas && isCompared(headers) ? loadOperation(spec) : undefined,
        exactNumbers: !reads,
      };
      const send = (checkedCall: CheckedCall) => client.send(checkedCall, options);
      const response = await withSpinner(context, spec.summary, () =>
        flags.all === true && paging ? fetchAllParts(paging, changedCall, send) : send(changedCall),
      );
      if (reads) requireValidValue(response);
      check?.(response, changedCall);
      const { value } = response;
      await maskReturnedSecrets(host, value);
      await reportMovedIdentifiers(response, context);
      const query = changedCall.args.query ?? {};
      if (formatOutcome && output.format === "table" && host.stdout.isTTY) {
        await output.print(formatOutcome(changedCall));
      } else {
        const emptyReason = paging && isObject(value) ? describePastEnd(paging, value, query) : undefined;
        await showResponse(spec, operation, response, input, context, emptyReason);
      }
      if (spec.output === "events") await reportStreamEnd(context, client);
      if (paging && isObject(value)) await reportMoreRows(paging, value, query, context, flags.all === true);
      return response as ApiResponse<Value>;
    },
  };
}

/** Rejects, before any prompt, what no prompt can fix. A command that may complete the input has prompts of its own. */
export async function rejectInvalidInput(
  spec: CommandSpec,
  input: CommandInput,
  context: Context,
  { mayComplete = false } = {},
): Promise<void> {
  await checkOutput(spec, input, context);
  const operation = await loadOperation(spec);
  const { args } = await buildArguments(spec, operation, input, context.host);
  const isFixable = ({ in: part, missing }: ArgumentProblem) => missing && (mayComplete || part === "params");
  const problems = findProblems(operation, args).filter((problem) => !isFixable(problem));
  const error = problems.length === 0 ? undefined : toUsageError(spec, problems, input);
  if (error && !(error instanceof InputRequiredError)) throw error;
}

async function checkOutput(spec: CommandSpec, { flags }: CommandInput, { globals, host }: Context): Promise<void> {
  if (globals.fields) checkFields(globals.fields, spec.fields);
  const file = flags.output as string | undefined;
  if (flags["dry-run"] !== true && hasBytes(spec, /^(?!text\/|.*charset=)/)) rejectBytesOnTerminal(host, file);
  if (file === undefined || file === "-") return;
  await checkOutputFile(host, file, "--output", { inputs: [flags.data, flags.file] as (string | undefined)[] });
}

/** Builds the request from the input, checks it, and signs it if the command signs requests. */
async function buildCall(
  spec: CommandSpec,
  operation: CallableOperation,
  input: CommandInput,
  { output, host }: Context,
  { query, sign }: RequestChanges,
) {
  const { args, contentType } = await buildArguments(spec, operation, input, host);
  const { body } = operation.request;
  if (body && "schema" in body && (input.flags.set ?? input.flags.data) !== undefined) {
    for (const line of findMisspeltFields(body.schema, toPlainNumbers(args.body)))
      await output.warn(`warning: ${line}`);
  }
  const given = checkInput(spec, operation, { ...args, query: { ...query, ...args.query } }, input);
  const { query: givenQuery = {} } = given.args;
  const call = spec.paging
    ? given.with({ query: buildFirstPageQuery(spec.paging, givenQuery, input.flags.all === true) })
    : given;
  return { call: sign ? await sign(call) : call, contentType };
}

async function reportMovedIdentifiers({ headers }: ApiResponse, { output }: Context): Promise<void> {
  const count = Number(headers["x-svc-moved"]);
  if (!(count > 0)) return;
  const moved = `${pluralize(count, "identifier was", "identifiers were")} mapped to another cluster`;
  await output.note(`${moved} and ${count === 1 ? "has" : "have"} been moved`);
}

const hasBytes = ({ responses }: CommandSpec, mediaType: RegExp): boolean =>
  Object.values(responses).some((response) => response.kind === "bytes" && mediaType.test(response.mediaType));

async function fetchAllParts(paging: Paging, call: CheckedCall, send: PreparedRequest["send"]) {
  const first = await send(call);
  const fetch = async (query: object) => parsePart(await send(call.with({ query: { ...query } })));
  const value = await fetchAllPages(paging, parsePart(first), call.args.query ?? {}, fetch);
  return { ...first, value };
}

function parsePart({ status, value }: ApiResponse): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new InvalidResponseError(status, `The service responded with ${status} and a body that is not an object.`);
}

function checkInput(spec: CommandSpec, operation: CallableOperation, args: CallArguments, input: CommandInput) {
  try {
    const call = CheckedCall.check(operation, args);
    // The service rejects such values with its own message, as in OAuth. Its schema accepts them.
    const missing = spec.flags.flatMap(({ required, target }) =>
      required && target?.in === "body" && isObject(args.body) && args.body[target.name] === undefined
        ? [{ in: target.in, path: [target.name], message: "", missing: true }]
        : [],
    );
    if (missing.length > 0) throw new InvalidArgumentsError(operation.id, missing);
    return call;
  } catch (error) {
    throw error instanceof InvalidArgumentsError ? toUsageError(spec, error.problems, input) : error;
  }
}

const mustValidate = ({ schemaChecked }: CommandSpec, { positionals, flags }: CommandInput): boolean =>
  schemaChecked === "all" || schemaChecked.some((name) => (positionals[name] ?? flags[name]) !== undefined);

/** Loads the declaration from its own module, without the registry. */
export async function loadOperation({ id, resource }: CommandSpec): Promise<Operation> {
  const operations = Object.values(await resources[resource]()) as readonly unknown[];
  const operation = operations.find((value) => (value as Operation | null)?.id === id) as Operation | undefined;
  if (!operation) throw new Error(`${resource} declares no operation ${id}; rebuild with npm run build`);
  return operation;
}

async function confirmCommand(spec: CommandSpec, { positionals, flags }: CommandInput, context: Context) {
  if (spec.confirm === undefined) return;
  const names = Object.entries(positionals).map(
    ([name, value]) => `${name.replaceAll("_", " ").replace(/\bid$/, "ID")} ${value}`,
  );
  const action = names.length === 0 ? spec.summary : `${spec.summary} (${names.join(", ")})`;
  if (spec.confirm === "yes") return confirmYes(action, context);
  return confirmName(action, String(Object.values(positionals)[0]), flags.confirm as string | undefined, context);
}

const listFilters = ({ flags }: CommandSpec, flagValues: CommandInput["flags"]): string[] =>
  flags.flatMap(({ flag, target }) => {
    const isFilter = target?.in === "query" && flagValues[flag] !== undefined && !pagingParameters.has(target.name);
    return isFilter ? [flag] : [];
  });

const pagingParameters: ReadonlySet<string> = new Set(["page", "limit", "offset", "sort"]);

async function showResponse(
  spec: CommandSpec,
  operation: CallableOperation,
  response: ApiResponse,
  input: CommandInput,
  context: Context,
  emptyReason: string | undefined,
): Promise<void> {
  const { output, host, signal } = context;
  const file = input.flags.output as string | undefined;
  const emptyMessage = describeEmptyResult(spec.words, listFilters(spec, input.flags));
  const view = { fields: spec.fields, columns: spec.columns, rows: spec.rows, emptyMessage, emptyReason };
  // If several successful responses are declared, the received one decides: a page, or its location.
  switch (getBodyKind(operation, response.status) ?? spec.output) {
    case "empty":
      return showNothing();
    case "events": {
      await output.note("Following (press Ctrl-C to stop)");
      for await (const event of response.value as AsyncIterable<unknown>) {
        signal.throwIfAborted();
        await output.printDocument(context.globals.fields ? pickFields(event, context.globals.fields) : event);
      }
      return;
    }
    case "bytes":
    case "html": {
      const content =
        typeof response.value === "string"
          ? [Buffer.from(response.value)]
          : getDocumentBytes(response, { mayBeEmpty: !hasBytes(spec, /^application\/(?!octet-stream)/) });
      if (file !== undefined && file !== "-") {
        await writeOutput(host, file, content);
        return output.note(`Wrote ${file}`);
      }
      return output.printContent(content, typeof response.value === "string");
    }
    default:
      if (response.value === undefined) return showNothing();
      // A cluster can respond with a page.
      return typeof response.value === "string" &&
        output.isText &&
        /^text\//.test(response.headers["content-type"] ?? "")
        ? output.printContent([Buffer.from(response.value)], true)
        : output.show(response.value, view);
  }

  async function showNothing(): Promise<void> {
    if (response.value !== undefined) return output.show(response.value, view);
    const isMissing = getBodyKind(operation, response.status) === "json";
    if (isMissing && spec.method === "GET") throw createEmptyResponseError("JSON", response.status);
    if (output.format === "json") return output.show(null);
    const outcome = isMissing ? `the service responded ${response.status} with an empty body` : "done";
    return output.note(`${spec.summary}: ${outcome}`);
  }
}
