import type { Readable, Writable } from "node:stream";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  CancelledNotificationSchema,
  ErrorCode,
  InitializeRequestSchema,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  type RequestId,
  RequestIdSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { waitUntilAborted } from "../../base/concurrency.ts";
import { tryParseJson } from "../../base/object.ts";
import { createSwitch } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { UsageError } from "../process/failure.ts";
import { createToolRunner, type McpToolResult, type ToolRunner, toErrorResult } from "./mcp/runner.ts";
import { isReadOnly, listTools, type McpTool } from "./mcp/tools.ts";

const mcp = defineCommand({
  words: ["mcp"],
  prints: "content",
  summary: "Serve agents over the Model Context Protocol, on stdio",
  description:
    "Serves at most ten tools on standard input and output, until standard input ends. Each tool runs commands and returns their --json output, with secrets hidden. Tools only read unless --allow-writes is given. An agent cannot choose the service: --base-url, --profile and --emulator belong to this command.",
  flags: [createSwitch("allow-writes", "Let tools change contracts, webhooks, time and state")],
  examples: [
    ["Start a read-only server for an agent", "mcp"],
    ["Start a server that may change an emulator", "mcp --allow-writes"],
  ],
  async run(input, context) {
    if (context.host.stdin.isTTY === true) {
      throw new UsageError("svc mcp cannot be used at a terminal", {
        hint: "It serves the agent that starts it, on standard input and output. See svc mcp --help.",
      });
    }
    await serveTools(context, { allowWrites: input.flags["allow-writes"] === true });
  },
});

/** Serves the tools on the streams of the host, until standard input ends or the run is aborted. */
async function serveTools(context: Context, { allowWrites }: { readonly allowWrites: boolean }): Promise<void> {
  const { host, signal } = context;
  const runner = createToolRunner(context);
  const tools = listTools(allowWrites);
  const server = new Server({ name: "svc", version: host.version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(describeTool) }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: givenArguments } }, { signal }) => {
      const tool = tools.find((tool) => tool.name === name);
      const run: ToolRunner["run"] = (argv, stdin) => runner.run(argv, stdin, signal);
      const { text, isError } = tool
        ? await callTool(tool, givenArguments, { ...runner, run })
        : toErrorResult(new UsageError(`Unknown tool "${name}".`));
      return { content: [{ type: "text", text }], isError };
    },
  );
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
    host.stdin.once("end", resolve);
    host.stdin.once("close", resolve);
    void waitUntilAborted(signal).then(resolve);
  });
  const transport = new LineTransport(host.stdin, host.stdout);
  await server.connect(transport);
  await closed;
  await transport.waitForResponses();
  await runner.waitUntilIdle();
  await server.close();
  signal.throwIfAborted();
}

/** Describes a tool with its schema. Repetitive parts are omitted, because agents pay for each token. */
function describeTool(tool: McpTool) {
  const { name, description, input } = tool;
  const { $schema: _, additionalProperties: __, ...schema } = z.toJSONSchema(input, { io: "input" });
  return {
    name,
    description,
    inputSchema: { ...schema, type: "object" as const },
    annotations: { readOnlyHint: isReadOnly(tool) },
  };
}

async function callTool(tool: McpTool, givenInput: unknown, runner: ToolRunner): Promise<McpToolResult> {
  const parseResult = tool.input.safeParse(givenInput ?? {});
  if (!parseResult.success) return toErrorResult(new UsageError(formatIssues(parseResult.error)));
  try {
    return await tool.run(parseResult.data, runner);
  } catch (error) {
    return toErrorResult(error);
  }
}

const maxLineBytes = 10 * 1024 * 1024;

/** Requests that the server handles. The SDK reports invalid parameters as an internal error. */
const requestSchemas = [InitializeRequestSchema, ListToolsRequestSchema, CallToolRequestSchema];

/** Reads a message per line. Unlike the SDK's transport, it responds to unreadable lines and survives too long ones. */
class LineTransport implements Transport {
  readonly #input: Readable;
  readonly #output: Writable;
  #pieces: Buffer[] = [];
  #size = 0;
  readonly #open = new Set<RequestId>();
  #onSettled: (() => void) | undefined;
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#readChunk).on("end", this.#endLine).on("error", this.#fail);
  }

  /** Resolves when all requests except cancelled ones have a response. */
  async waitForResponses(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onSettled = resolve;
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settleRequest(message.id);
    await this.#write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#input.off("data", this.#readChunk).off("end", this.#endLine).off("error", this.#fail);
    this.#input.pause();
    this.onclose?.();
  }

  readonly #fail = (error: Error): void => this.onerror?.(error);

  readonly #readChunk = (chunk: Buffer): void => {
    let rest = chunk;
    for (let at = rest.indexOf("\n"); at !== -1; at = rest.indexOf("\n")) {
      this.#add(rest.subarray(0, at));
      this.#endLine();
      rest = rest.subarray(at + 1);
    }
    this.#add(rest);
  };

  /** Stores a part of a line. A line that is too long is discarded. */
  #add(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > maxLineBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  readonly #endLine = (): void => {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    const isTooLong = this.#size > maxLineBytes;
    this.#pieces = [];
    this.#size = 0;
    if (!isTooLong && line.trim() === "") return;
    const result = isTooLong
      ? rejectMessage(ErrorCode.InvalidRequest, "The message is larger than 10 MiB.")
      : readMessage(line);
    if ("rejection" in result) return void this.#write(`${JSON.stringify(result.rejection)}\n`);
    const { message } = result;
    if (isJSONRPCRequest(message)) this.#open.add(message.id);
    const cancellation = CancelledNotificationSchema.safeParse(message);
    if (cancellation.success) this.#settleRequest(cancellation.data.params.requestId);
    this.onmessage?.(message);
  };

  #settleRequest(id: RequestId | undefined): void {
    if (id !== undefined) this.#open.delete(id);
    if (this.#open.size === 0) this.#onSettled?.();
  }

  async #write(text: string): Promise<void> {
    if (!this.#output.write(text)) await new Promise((resolve) => this.#output.once("drain", resolve));
  }
}

type ReadMessage = { readonly message: JSONRPCMessage } | { readonly rejection: object };

/** Rejects a message before it reaches the server. The error includes the ID of the message, or null if it has none. */
function rejectMessage(code: ErrorCode, message: string, document?: unknown): ReadMessage {
  const id = RequestIdSchema.safeParse((document as { id?: unknown } | null | undefined)?.id).data ?? null;
  return { rejection: { jsonrpc: "2.0", id, error: { code, message } } };
}

function readMessage(line: string): ReadMessage {
  const document = tryParseJson(line);
  if (document === undefined) return rejectMessage(ErrorCode.ParseError, "The message is not JSON.");
  if (Array.isArray(document)) {
    return rejectMessage(ErrorCode.InvalidRequest, "The message is a batch, which is not supported.");
  }
  const { data: message, success } = JSONRPCMessageSchema.safeParse(document);
  if (!success) {
    const problem = "The message is not a request, a notification or a response of JSON-RPC 2.0.";
    return rejectMessage(ErrorCode.InvalidRequest, problem, document);
  }
  if (!isJSONRPCRequest(message)) return { message };
  const error = requestSchemas.find(({ shape }) => shape.method.value === message.method)?.safeParse(message).error;
  return error ? rejectMessage(ErrorCode.InvalidParams, formatIssues(error), message) : { message };
}

const formatIssues = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");

export const commands: readonly Command[] = [mcp];
