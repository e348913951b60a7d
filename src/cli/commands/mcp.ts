import { Readable } from "node:stream";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { type CallToolRequest, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { waitUntilAborted } from "../../base/concurrency.ts";
import { waitForNextTurn } from "../../base/timing.ts";
import { svcVersion } from "../../base/version.ts";
import { createSwitch } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
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

/** Accepts any parameters, which the server checks. It would report a mismatch of this schema as its internal error. */
const ToolCallRequest = z.object({
  method: z.literal("tools/call"),
  params: z.custom<CallToolRequest["params"]>().optional(),
});

/** Serves the tools on the streams of the host, until standard input ends or the run is aborted. */
async function serveTools(context: Context, { allowWrites }: { readonly allowWrites: boolean }): Promise<void> {
  const { host, output, signal } = context;
  const runner = createToolRunner(context);
  const tools = listTools(allowWrites);
  const server = new Server({ name: "svc", version: svcVersion }, { capabilities: { tools: {} } });
  const running = new Set<Promise<McpToolResult>>();
  let lastProblem = "";
  server.onerror = (error) => {
    const isUnreadable = error instanceof SyntaxError || error.name === "ZodError";
    lastProblem = isUnreadable ? "A message is not valid JSON-RPC and was ignored." : error.message;
    void output.warn(`warning: ${lastProblem}`);
  };
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(describeTool) }));
  server.setRequestHandler(ToolCallRequest, async ({ params }, { signal }) => {
    const { name, arguments: givenArguments } = params!;
    const tool = tools.find((tool) => tool.name === name);
    const run: ToolRunner["run"] = (argv, stdin) => runner.run(argv, stdin, signal);
    const call = callTool(tool, name, givenArguments, { ...runner, run });
    running.add(call);
    const { text, isError } = await call.finally(() => running.delete(call));
    return { content: [{ type: "text", text }], isError };
  });
  const stdin = Readable.from(endLastLine(host.stdin));
  // Resolves with true if the server closes the connection before the input ends.
  const closing = new Promise<boolean>((resolve) => {
    server.onclose = () => resolve(true);
    const end = () => resolve(false);
    stdin.once("end", end);
    stdin.once("close", end);
    void waitUntilAborted(signal).then(end);
  });
  await server.connect(new StdioServerTransport(stdin, host.stdout));
  const isLost = await closing;
  await Promise.all(running);
  // The server sends the last responses in this turn.
  await waitForNextTurn();
  await server.close();
  stdin.destroy();
  // An agent can have closed only the output, and an open input keeps the process alive.
  host.stdin.destroy();
  if (isLost) throw new CommandFailedError("failed", "connection_closed", `The connection was closed: ${lastProblem}`);
  signal.throwIfAborted();
}

/** Ends the last line, because the transport reads only complete lines. */
async function* endLastLine(input: Readable): AsyncGenerator<Buffer> {
  let isLineOpen = false;
  for await (const piece of input) {
    const bytes = Buffer.from(piece);
    isLineOpen = bytes.at(-1) !== lineEnd;
    yield bytes;
  }
  if (isLineOpen) yield Buffer.of(lineEnd);
}

const lineEnd = 0x0a;

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

async function callTool(
  tool: McpTool | undefined,
  name: string,
  givenInput: unknown,
  runner: ToolRunner,
): Promise<McpToolResult> {
  if (!tool) return toErrorResult(new UsageError(`Unknown tool "${name}".`));
  const parseResult = tool.input.safeParse(givenInput ?? {});
  if (!parseResult.success) {
    const hint = `Arguments of this tool: ${Object.keys(tool.input.shape).join(", ") || "none"}`;
    return toErrorResult(new UsageError(formatIssues(parseResult.error), { hint }));
  }
  try {
    return await tool.run(parseResult.data, runner);
  } catch (error) {
    return toErrorResult(error);
  }
}

const formatIssues = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");

export const commands: readonly Command[] = [mcp];
