import { createSwitch } from "../../derive/command-spec.ts";
import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../process/failure.ts";
import { serveTools } from "./mcp/server.ts";

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

export const commands: readonly Command[] = [mcp];
