import type { FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import { formatFlagValue } from "../parse/declaration.ts";
import { type ExampleNotation, formatExample, toExample } from "../process/shell-words.ts";

export interface HelpPage {
  readonly usage?: string;
  readonly introduction?: readonly string[];
  readonly examples?: readonly ExampleNotation[];
  readonly tables?: readonly HelpTable[];
  readonly notes?: readonly string[];
}

export interface HelpTable {
  readonly title: string;
  readonly rows: readonly (readonly [term: string, text: string])[];
  readonly names?: readonly string[];
  /** Whether the table directly follows the previous one, without a blank line. */
  readonly isContinuation?: boolean;
}

/** Longer lines are tiring to read, even in a wide window. */
const maxColumns = 100;
const maxTermColumns = 30;
const minTextWidth = 30;

/** The parser's own help has no groups, topics and examples (ARCHITECTURE.md, Written by hand). */
export function layOutPage(page: HelpPage, columns: number): string {
  const { usage, introduction = [], examples = [], tables = [], notes = [] } = page;
  const width = Math.min(columns, maxColumns);
  const wrapParagraphs = (texts: readonly string[]) => texts.map((text) => wrapText(text, width).join("\n"));
  const blocks = [
    ...(usage === undefined ? [] : [wrapText(`Usage: ${usage}`, width, 4).join("\n")]),
    ...wrapParagraphs(introduction),
    ...(examples.length > 0 ? [formatExamples(examples)] : []),
    ...formatTables(tables, width),
    ...wrapParagraphs(notes),
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** A line break would end a command that users paste, so the terminal wraps long examples. */
const formatExamples = (examples: readonly ExampleNotation[]): string =>
  [
    "Examples:",
    ...examples.map(toExample).flatMap((example) => [`  # ${example.title}`, `  ${formatExample(example)}`]),
  ].join("\n");

function formatTables(tables: readonly HelpTable[], width: number): string[] {
  const blocks: HelpTable[][] = [];
  for (const table of tables.filter(({ rows, names = [] }) => rows.length + names.length > 0)) {
    if (table.isContinuation && blocks.length > 0) blocks.at(-1)!.push(table);
    else blocks.push([table]);
  }
  return blocks.map((block) => {
    const termColumns = getWidestTerm(block.flatMap(({ rows }) => rows));
    return block.map((table) => formatTable(table, termColumns, width)).join("\n");
  });
}

const getWidestTerm = (rows: HelpTable["rows"]): number =>
  Math.max(...rows.map(([term]) => term.length).filter((length) => length <= maxTermColumns), 0);

/** Formats terms and descriptions. A long term, or a narrow window, puts the description below its term. */
function formatTable({ title, rows, names = [] }: HelpTable, termColumns: number, width: number): string {
  const termWidth = width - termColumns - 4 >= minTextWidth ? termColumns : 0;
  const lines = rows.flatMap(([term, text]) => {
    const isInline = termWidth > 0 && term.length <= termWidth;
    const indent = termWidth > 0 ? termWidth + 4 : 6;
    const [first = "", ...rest] = wrapText(text, width - indent);
    const furtherLines = (isInline ? rest : [first, ...rest]).filter((line) => line !== "");
    return [
      isInline ? `  ${term.padEnd(termWidth)}  ${first}`.trimEnd() : `  ${term}`,
      ...furtherLines.map((line) => " ".repeat(indent) + line),
    ];
  });
  const otherNames =
    names.length === 0 ? [] : wrapText(`${rows.length > 0 ? "also: " : ""}${names.join(", ")}`, width - 2);
  return [`${title}:`, ...lines, ...otherNames.map((line) => `  ${line}`)].join("\n");
}

/** Wraps lines at this many characters between words. All lines but the first are indented by `indent` spaces. */
function wrapText(text: string, width: number, indent = 0): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : " ".repeat(indent) + word);
  }
  return lines;
}

/** Completion and error messages show longer lists of choices. */
const maxChoices = 12;

export function formatPositional({ name, optional, variadic }: PositionalSpec): string {
  const label = `${name.replaceAll("_", "-")}${variadic ? "..." : ""}`;
  return optional ? `[${label}]` : `<${label}>`;
}

export const createPositionalTable = (positionals: readonly PositionalSpec[]): HelpTable => ({
  title: "Arguments",
  rows: positionals.map((positional) => [
    formatPositional(positional),
    withNotes(positional.description, formatChoices(positional.choices)),
  ]),
});

export function createFlagTables(flags: readonly FlagSpec[], bodyFrom: readonly string[] = []): HelpTable[] {
  const sections = new Set(flags.flatMap(({ section }) => section ?? []));
  return [undefined, ...sections].map((title) =>
    createFlagTable(
      title ?? "Options",
      flags.filter(({ section }) => section === title),
      bodyFrom,
    ),
  );
}

/** Creates a table of flags. If a flag has a short form, the long forms are aligned. */
export function createFlagTable(
  title: string,
  flags: readonly FlagSpec[],
  bodyFrom: readonly string[] = [],
): HelpTable {
  const indent = flags.some(({ short }) => short !== undefined) ? "    " : "";
  return { title, rows: flags.map((spec) => createFlagRow(spec, bodyFrom, indent)) };
}

export const createFlagRow = (
  spec: FlagSpec,
  bodyFrom: readonly string[] = [],
  indent = "",
): readonly [term: string, text: string] => [
  `${spec.short ? `-${spec.short}, ` : indent}${formatLongFlag(spec)}`,
  withNotes(spec.description, ...listNotes(spec, bodyFrom)),
];

const formatLongFlag = (spec: FlagSpec): string =>
  spec.type === "boolean" ? `--[no-]${spec.flag}` : [`--${spec.flag}`, ...formatFlagValue(spec)].join(" ");

function listNotes(spec: FlagSpec, bodyFrom: readonly string[]): string[] {
  const isOneWay = spec.target?.in === "body" && bodyFrom.length > 0;
  return [
    ...(spec.required ? [isOneWay ? `required without ${bodyFrom[0]}` : "required"] : []),
    ...formatChoices(spec.choices),
    ...(spec.repeatable ? [spec.choices ? "may be repeated, or A,B" : "may be repeated"] : []),
    ...(spec.default === undefined || spec.default === "" ? [] : [`default: ${spec.default}`]),
  ];
}

function formatChoices(choices: readonly string[] = []): string[] {
  if (choices.length === 0) return [];
  return [choices.length <= maxChoices ? choices.join(", ") : `one of ${choices.length}`];
}

const withNotes = (text: string, ...notes: (string | readonly string[])[]): string => {
  const texts = notes.flat();
  if (texts.length === 0) return text;
  // The default comes last, unless the description already states it.
  const [, before = text, preset] = /^(.*) \((default: [^()]*)\)$/.exec(text) ?? [];
  return `${before} (${[...texts, ...(preset ? [preset] : [])].join("; ")})`.trim();
};
