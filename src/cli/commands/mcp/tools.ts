import { z } from "zod";
import { exampleContract } from "../../../api/contracts/contracts.ts";
import { omitUndefined } from "../../../base/object.ts";
import { UsageError } from "../../process/failure.ts";
import { callShape, createCallLine, findCommand, findCommands } from "./operations.ts";
import { type McpToolResult, type ToolRunner, toDataResult } from "./runner.ts";

/** Tool of the server. The server validates the input before it runs the tool. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  run(input: Readonly<Record<string, unknown>>, runner: ToolRunner): Promise<McpToolResult>;
}

const defineTool = <Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: Shape,
  run: (input: z.infer<z.ZodObject<Shape>>, runner: ToolRunner) => Promise<McpToolResult>,
): McpTool => ({ name, description, input: z.strictObject(shape), run: run as unknown as McpTool["run"] });

const stringSchema = z.string();
const optionalString = z.string().optional();

const createOperationCallTool = (allowWrites: boolean) =>
  defineTool(
    "call",
    allowWrites ? "Call an operation" : "Call a read-only operation",
    callShape,
    async (input, runner) => {
      const { argv, stdin } = createCallLine(await runner.listCommands(), input, allowWrites);
      return runner.run(argv, stdin);
    },
  );

/** Exceeds the number of signatories of every emulator contract. */
const maxSteps = 20;

/** Returns the command line of the next step to the status. Throws UsageError if no step leads to it. */
function findNextStep(status: string, to: string, id: string): string[] {
  if (status === "DRAFT" && to !== "DRAFT") return ["contracts", "send", id];
  if (status === "SIGN" && to === "EXECUTED") return ["emulator", "sign", id];
  throw new UsageError(`Contract ${id} is in status ${status}, from which no step leads to ${to}`);
}

async function createSample(runner: ToolRunner): Promise<string | McpToolResult> {
  const creation = await runner.run(["contracts", "create", "--data", "-"], JSON.stringify(exampleContract));
  return creation.isError ? creation : String(JSON.parse(creation.text).id);
}

/** Rejects a value from an agent that could be parsed as a flag. */
function requireWord(value: string, name: string): string {
  if (value === "" || value.startsWith("-")) throw new UsageError(`${name} must be a name, got "${value}"`);
  return value;
}

const formatFlags = (flags: Readonly<Record<string, string | number | undefined>>): string[] =>
  Object.entries(omitUndefined(flags)).map(([flag, value]) => `--${flag}=${value}`);

const readTools: readonly McpTool[] = [
  defineTool("find", "Search operations by keyword", { query: stringSchema }, async ({ query }, runner) =>
    toDataResult(findCommands(await runner.listCommands(), query)),
  ),
  defineTool(
    "describe",
    "Show fields, examples and path of an operation (ID or command)",
    { operation: stringSchema },
    async ({ operation }, runner) => toDataResult(findCommand(await runner.listCommands(), operation)),
  ),
  createOperationCallTool(false),
  defineTool(
    "contract",
    "Show the status of a contract",
    { id: stringSchema.describe("T-1") },
    async ({ id }, runner) => runner.run(["contracts", "status", requireWord(id, "id")]),
  ),
  defineTool("clock", "Show virtual time and what is due next", {}, async (_, runner) =>
    runner.run(["emulator", "clock"]),
  ),
  defineTool(
    "trace",
    "Show the causes and effects of a request or delivery",
    { ref: stringSchema.describe("T-1, request:12, delivery:3") },
    async ({ ref }, runner) => runner.run(["emulator", "trace", requireWord(ref, "ref")]),
  ),
  defineTool(
    "why",
    "Diagnose webhooks that fail",
    { webhook: optionalString.describe("ID, URL or title") },
    async ({ webhook }, runner) =>
      runner.run(["webhooks", "why", ...(webhook === undefined ? [] : [requireWord(webhook, "webhook")])]),
  ),
  defineTool("snapshot", "List snapshots of the emulator", {}, async (_, runner) =>
    runner.run(["emulator", "snapshot", "list"]),
  ),
  defineTool(
    "requests",
    "List requests that the emulator received, newest first",
    { status: z.number().int().optional(), operation: optionalString, limit: z.number().int().optional() },
    async ({ status, operation, limit = 20 }, runner) =>
      runner.run(["emulator", "requests", ...formatFlags({ limit, status, operation })]),
  ),
];

/** Tools that change something. They replace the tools of the same name. */
const writeTools: readonly McpTool[] = [
  createOperationCallTool(true),
  // The lifecycle steps lead from creation to the requested status. The last response reports that status.
  defineTool(
    "contract",
    "Bring a contract to a status, or create a sample contract; returns its ID and status",
    { id: optionalString.describe("T-1; omit to create"), to: z.enum(["DRAFT", "SIGN", "EXECUTED"]).optional() },
    async ({ id: givenId, to }, runner) => {
      const id = givenId === undefined ? await createSample(runner) : requireWord(givenId, "id");
      if (typeof id !== "string") return id;
      for (let steps = 0; ; steps += 1) {
        const result = await runner.run(["contracts", "status", id]);
        if (result.isError) return result;
        const contract = JSON.parse(result.text);
        const status = contract.contract_status;
        if (to === undefined || status === to || steps === maxSteps) return toDataResult({ id, ...contract });
        const transition = await runner.run(findNextStep(status, to, id));
        if (transition.isError) return transition;
      }
    },
  ),
  defineTool(
    "clock",
    "Show virtual time, or advance it: what becomes due runs",
    {
      by: optionalString.describe("PT2H35M"),
      to: optionalString.describe("ISO 8601"),
      until_idle: z.boolean().optional(),
    },
    async ({ by, to, until_idle }, runner) => {
      const flags = [...formatFlags({ by, to }), ...(until_idle ? ["--until-idle"] : [])];
      return runner.run(flags.length === 0 ? ["emulator", "clock"] : ["emulator", "clock", "advance", ...flags]);
    },
  ),
  defineTool(
    "snapshot",
    "List, save (replacing one of that name), restore or compare snapshots",
    { action: z.enum(["list", "save", "restore", "diff"]), name: optionalString },
    async ({ action, name }, runner) => {
      if (action === "list") return runner.run(["emulator", "snapshot", "list"]);
      if (name === undefined) throw new UsageError("name is required");
      const replace = action === "save" ? ["--replace"] : [];
      return runner.run(["emulator", "snapshot", action, requireWord(name, "name"), ...replace]);
    },
  ),
  // Sends invalid deliveries to the receiver.
  defineTool(
    "certify",
    "Grade a webhook receiver: sends it good and bad deliveries",
    { to: stringSchema.describe("URL"), hmac_key_file: stringSchema },
    async ({ to, hmac_key_file }, runner) =>
      runner.run(["webhooks", "certify", ...formatFlags({ to, "hmac-key-file": hmac_key_file })]),
  ),
];

export const listTools = (allowWrites: boolean): readonly McpTool[] =>
  allowWrites ? [...new Map([...readTools, ...writeTools].map((tool) => [tool.name, tool])).values()] : readTools;

export const isReadOnly = (tool: McpTool): boolean => readTools.includes(tool);
