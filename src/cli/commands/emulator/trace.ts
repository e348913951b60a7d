import { showTrace, traceColumns, watchTrace } from "../../../api/emulator/traces.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { emulatorResource, type TraceNode, toSpan } from "../../../api/trace-span.ts";
import { groupBy } from "../../../base/object.ts";
import { buildOtlpDocument } from "../../../base/otel.ts";
import { svcVersion } from "../../../base/version.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { followStream } from "../../connection/follow.ts";
import { bold, dim, red, type StyledLine, type StyledText, styleState } from "../../output/styled.ts";
import { outputFormatNames } from "../../parse/globals.ts";
import { UsageError } from "../../process/failure.ts";
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
    ["Find out why a contract's webhook was sent six times", "emulator trace T-1"],
    ["Print the trace as a diagram", "emulator trace T-1 --format mermaid"],
  ],
  async run({ positionals, flags }, context) {
    const { ref } = positionals;
    if (!flags.follow) return show(ref, flags.file, context);
    const format: string = context.output.format;
    if (format === "otlp" || format === "mermaid")
      throw new UsageError(`--format ${format} cannot be used with --follow`);
    return followStream(context, watchTrace, { params: { ref } }, flags.file, formatNode);
  },
});

async function show(ref: string, file: string | undefined, context: Context) {
  const client = await context.client("emulator", { file });
  const { output } = context;
  // The command has two additional formats.
  const format: string = output.format;
  const trace = await client.call(showTrace, { params: { ref } });
  if (format === "otlp") {
    const scope = { name: "svc", version: svcVersion };
    await output.printDocument(buildOtlpDocument(trace.nodes.map(toSpan), emulatorResource, scope), 2);
  } else if (format === "mermaid") {
    await output.printUnwrapped(...renderMermaid(trace));
  } else if (output.isText) {
    await output.print(...formatTree(trace));
  } else {
    await output.show(trace, { rows: "nodes", columns: traceColumns });
  }
}

type TraceTree = Pick<ResultOf<typeof showTrace>, "nodes" | "planned" | "more">;

interface Branch {
  readonly parent: string | null;
  readonly at: string;
  /** Omitted if it adds nothing to the previous line. */
  readonly wallAt?: string | undefined;
  readonly text: StyledLine;
  readonly id?: string;
}

/** Each line has the virtual time, the event, its cause, and the wall-clock time if it differs. */
export function formatTree({ nodes, planned, more }: TraceTree): StyledLine[] {
  const branches = nodes.map((node): Branch => {
    return { parent: node.parent, at: node.at, wallAt: getWallTime(node), text: formatNodeText(node), id: node.id };
  });
  const plannedBranches = planned.map(({ parent, due: at, what, because }): Branch => {
    return { parent, at, text: [dim(`planned: ${what}  ${because}`)] };
  });
  const children = groupBy([...branches, ...plannedBranches], ({ parent }) => parent);
  const lines: StyledLine[] = [];
  const wall = createWallTimeFormatter();
  const draw = (parent: string, indent: string) => {
    const below = children.get(parent) ?? [];
    below.forEach((branch, i) => {
      const isLast = i === below.length - 1;
      lines.push([`${branch.at}  ${indent}${isLast ? "└─ " : "├─ "}`, ...branch.text, ...wall(branch)]);
      if (branch.id !== undefined) draw(branch.id, `${indent}${isLast ? "   " : "│  "}`);
    });
  };
  for (const root of children.get(null) ?? []) {
    lines.push([`${root.at}  `, ...root.text, ...wall(root)]);
    if (root.id !== undefined) draw(root.id, "");
  }
  if (more) lines.push([dim("The trace is truncated. Trace a part of it, such as delivery:3")]);
  return lines;
}

const formatNode = (node: TraceNode): string =>
  `${node.at} ${node.parent === null ? "" : `${node.parent} > `}${node.id} ${node.what}${formatOutcome(node)}  ${node.because}`;

function formatNodeText(node: TraceNode): (string | StyledText)[] {
  const { id, what, error, because } = node;
  const status = getStatus(node);
  return [
    bold(id),
    "  ",
    error === null ? what : red(what),
    ...(status === null ? [] : ["  ", styleState(status)]),
    dim(`${formatDisabledBy(node)}  ${because}`),
  ];
}

const getWallTime = ({ at, wall_at }: TraceNode): string | undefined =>
  wall_at === null || isNear(wall_at, at) ? undefined : wall_at;

function createWallTimeFormatter(): (branch: Branch) => (string | StyledText)[] {
  let before: string | undefined;
  return ({ wallAt }) => {
    const isSame = wallAt === undefined || (before !== undefined && isNear(wallAt, before));
    if (wallAt !== undefined && !isSame) before = wallAt;
    return isSame ? [] : [dim(`  [wall ${wallAt}]`)];
  };
}

/** On a real clock, events are recorded a few milliseconds after their time. */
const toleranceMs = 1_000;
const isNear = (a: string, b: string): boolean => Math.abs(Date.parse(a) - Date.parse(b)) < toleranceMs;

const formatOutcome = (node: TraceNode): string =>
  node.outcome === null ? "" : ` ${getStatus(node)}${formatDisabledBy(node)}`;

/** Returns the status of a delivery. The cause that disabled the webhook follows the outcome. */
const getStatus = ({ outcome, status_text, disabled_by }: TraceNode): string | null =>
  disabled_by === null ? status_text : outcome;

const formatDisabledBy = ({ disabled_by }: TraceNode): string =>
  disabled_by === null ? "" : ` (webhook disabled by ${disabled_by})`;

/** By default, viewers reject drawings with more than 500 edges or 50,000 characters. */
const maxBoxes = 400;
const maxCharacters = 45_000;
const maxTextLength = 100;

function renderMermaid({ nodes, planned, more }: TraceTree): string[] {
  const boxes = new Map<string, string>();
  const lines = ["flowchart TD"];
  let length = 0;
  let boxCount = 0;
  const add = (parent: string | null, firstLine: string, secondLine: string, shape: readonly [string, string]) => {
    const parentBox = parent === null ? undefined : boxes.get(parent);
    const box = `n${boxes.size}`;
    const line = `  ${box}${shape[0]}"${formatLabel(firstLine)}<br/>${formatLabel(secondLine)}"${shape[1]}`;
    if (boxes.size >= maxBoxes || length + line.length > maxCharacters || (parent !== null && !parentBox)) {
      boxCount += 1;
      return undefined;
    }
    length += line.length;
    lines.push(line, ...(parentBox === undefined ? [] : [`  ${parentBox} --> ${box}`]));
    return box;
  };
  for (const { id, parent, at, what, because } of nodes) {
    const box = add(parent, `${id} ${what}`, `${at} ${because}`, ["[", "]"]);
    if (box !== undefined) boxes.set(id, box);
  }
  planned.forEach(({ parent, due, what, because }, i) => {
    const box = add(parent, `planned: ${what}`, `${due} ${because}`, ["([", "])"]);
    if (box !== undefined) boxes.set(`planned ${i}`, box);
  });
  if (boxCount > 0 || more) lines.push(`  rest["${boxCount > 0 ? `${boxCount} more` : "More entries"}"]`);
  return lines;
}

const formatLabel = (text: string): string =>
  (text.length > maxTextLength ? `${[...text].slice(0, maxTextLength).join("")}…` : text).replace(
    /[^\p{L}\p{N} .,:/_+()…-]/gu,
    (character) => `#${character.codePointAt(0)};`,
  );

export const commands: readonly Command[] = [emulatorTrace];
