import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Context } from "../../command.ts";
import { UsageError } from "../../process/failure.ts";
import { type Answer, Runner, toErrorAnswer } from "./runner.ts";
import { listTools, type Tool } from "./tools.ts";
import { formatIssues, LineTransport } from "./transport.ts";

/** Serves the tools on the streams of the host, until standard input ends or the run is stopped. */
export async function serve(context: Context, { allowWrites }: { readonly allowWrites: boolean }): Promise<void> {
  const { host, signal } = context;
  const runner = new Runner(context);
  const tools = listTools(allowWrites);
  const server = new Server({ name: "svc", version: host.version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(listTool) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given } }) => {
    const tool = tools.find((one) => one.name === name);
    const { text, isError } = tool
      ? await callTool(tool, given, runner)
      : toErrorAnswer(new UsageError(`Unknown tool "${name}".`));
    return { content: [{ type: "text", text }], isError };
  });
  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve;
    host.stdin.once("end", resolve);
    host.stdin.once("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const transport = new LineTransport(host.stdin, host.stdout);
  await server.connect(transport);
  await ended;
  await transport.waitForAnswers();
  await runner.waitUntilIdle();
  await server.close();
  signal.throwIfAborted();
}

/** The announced schema. Parts that every schema would repeat are omitted, because agents pay for each byte. */
function listTool({ name, description, input, readOnly }: Tool) {
  const { $schema: _, additionalProperties: __, ...schema } = z.toJSONSchema(input, { io: "input" });
  return {
    name,
    description,
    inputSchema: { ...schema, type: "object" as const },
    annotations: { readOnlyHint: readOnly },
  };
}

async function callTool(tool: Tool, given: unknown, runner: Runner): Promise<Answer> {
  const read = tool.input.safeParse(given ?? {});
  if (!read.success) return toErrorAnswer(new UsageError(formatIssues(read.error)));
  try {
    return await tool.run(read.data, runner);
  } catch (error) {
    return toErrorAnswer(error);
  }
}
