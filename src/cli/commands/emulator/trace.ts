import { showTrace, watchTrace } from "../../../api/emulator/traces.ts";
import { emulatorResource, toSpan } from "../../../api/trace-span.ts";
import { buildOtlpDocument } from "../../../base/otel-settings.ts";
import { svcVersion } from "../../../base/version.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { followStream } from "../../connection/follow.ts";
import { outputFormatNames } from "../../parse/globals.ts";
import { UsageError } from "../../process/failure.ts";
import { createExample } from "../../process/shell-words.ts";
import { formatNode, formatTree, renderMermaid } from "../trace/tree-lines.ts";
import { followFlag } from "../webhooks/deliveries.ts";

const emulatorTrace = defineCommand({
  words: ["emulator", "trace"],
  summary: "Show the causes and effects of a request or delivery",
  description:
    "Accepts request:12 (see svc emulator requests), T-1, delivery:3, event:4, webhook:1, timer:5, advance:6, or the ID of a W3C trace. Times are virtual. The wall clock time follows if it differs by a second or more.",
  positionals: [{ name: "ref", description: "Reference to trace: request:12, T-1, delivery:3, or a W3C trace ID" }],
  flags: [
    followFlag,
    createTextFlag("format", "FORMAT", "Output format; otlp for OpenTelemetry collectors, mermaid for a diagram", {
      choices: [...outputFormatNames, "otlp", "mermaid"],
    }),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    createExample("Find out why a contract's webhook was sent six times", "emulator trace T-1"),
    createExample("Print the trace as a diagram", "emulator trace T-1 --format mermaid"),
  ],
  async run({ positionals, flags }, context) {
    const ref = positionals.ref;
    if (ref === undefined) throw new UsageError("<ref> is required: request:12, T-1, delivery:3, or a W3C trace ID");
    return flags.follow ? follow(ref, flags.file, context) : show(ref, flags.file, context);
  },
});

async function show(ref: string, file: string | undefined, context: Context) {
  const client = await context.client("emulator", { file });
  const { output } = context;
  // The command has two additional formats.
  const format: string = output.format;
  const trace = await client.call(showTrace, { params: { ref } });
  if (format === "otlp") {
    await output.printDocument(
      buildOtlpDocument(trace.nodes.map(toSpan), emulatorResource, { name: "svc", version: svcVersion }),
      2,
    );
  } else if (format === "mermaid") {
    await output.printUnwrapped(...renderMermaid(trace));
  } else if (output.format === "table") {
    await output.print(...formatTree(trace));
  } else {
    await output.show(trace, { rows: "nodes" });
  }
}

async function follow(ref: string, file: string | undefined, context: Context) {
  const format: string = context.output.format;
  if (format === "otlp" || format === "mermaid")
    throw new UsageError(`--format ${format} cannot be used with --follow`);
  return followStream(context, watchTrace, { params: { ref } }, file, formatNode);
}

export const commands: readonly Command[] = [emulatorTrace];
