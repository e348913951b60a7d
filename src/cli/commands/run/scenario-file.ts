import { isUtf8 } from "node:buffer";
import { stat } from "node:fs/promises";
import {
  type Alias,
  Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from "yaml";
import { isObject } from "../../../base/object.ts";
import { findLinkTargetOutside } from "../../../files/folders.ts";
import type { Context } from "../../command.ts";
import { readInput, requireFile } from "../../parse/body.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import {
  type CommandLineListener,
  type FilePosition,
  findScenarioProblems,
  type LocateInFile,
  type ScenarioProblem,
} from "./check-scenario.ts";
import { fillReferences } from "./references.ts";
import { explainRejection } from "./rejection.ts";
import type { Scenario } from "./schema.ts";

export interface ParsedScenario {
  readonly file: string;
  readonly scenario: Scenario;
  readonly text: string;
  readonly document: Document;
  readonly locate: LocateInFile;
}

/** Scenario files are invalid. The message has all problems, each with its position. */
export class InvalidScenarioError extends UsageError {
  override readonly isAnnotated = true;
  readonly problems: readonly ScenarioProblem[];

  constructor(
    problems: readonly ScenarioProblem[],
    hint = "svc run --schema prints the JSON Schema of scenario files.",
  ) {
    const [message, ...details] = problems.map(
      ({ file, line, column, sentence }) => `${file}:${line}:${column}: ${sentence}`,
    );
    super(message!, { details, hint });
    this.problems = problems;
  }
}

const maxScenarioCharacters = 1_000_000;

/** @throws InvalidScenarioError with all problems. */
export function parseScenario(
  file: string,
  text: string,
  onCommandLine: CommandLineListener = () => {},
): ParsedScenario {
  const lines = new LineCounter();
  const toPosition = (offset: number): FilePosition => {
    const { line, col } = lines.linePos(Math.min(offset, text.length));
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const createError = (position: FilePosition, sentence: string) =>
    new InvalidScenarioError([{ ...position, sentence }]);
  if (text.length > maxScenarioCharacters)
    throw createError(toPosition(0), `A scenario must have at most ${maxScenarioCharacters} characters.`);
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  // A byte order mark has no column.
  if (text.startsWith("\ufeff")) lines.lineStarts[0] = 1;
  const [syntaxIssue = document.warnings[0]] = document.errors;
  if (syntaxIssue) throw createError(toPosition(syntaxIssue.pos[0]), toSyntaxSentence(syntaxIssue));
  let alias: Alias | undefined;
  // `Alias.resolve` reads the document for each alias.
  const anchors = new Map<string, Node>();
  visit(document, {
    Collection(_, node) {
      if (node.anchor) anchors.set(node.anchor, node);
    },
    Alias(_, node, path) {
      const target = anchors.get(node.source);
      if (target === undefined) alias ??= node;
      else if (path.includes(target))
        throw createError(
          toPosition(node.range![0]),
          `The file is not YAML: The alias ${node.source} contains itself.`,
        );
    },
    Scalar(_, node) {
      const { anchor, value, source = "", range } = node;
      if (anchor) anchors.set(anchor, node);
      // YAML 1.2 reads such a phone number or ID as a decimal number.
      if (typeof value === "number" && /^[-+]?0\d/.test(source))
        throw createError(toPosition(range![0]), `${source} would lose its leading zeros. Put it in quotes.`);
      const isInteger = /^[-+]?\d+$|^0[ox]/.test(source);
      if (typeof value === "number" && (isInteger ? !Number.isSafeInteger(value) : !Number.isFinite(value)))
        throw createError(
          toPosition(range![0]),
          `${source} cannot be represented exactly. To keep its digits, use a command line in a step with svc.`,
        );
    },
  });
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw createError(toPosition(alias?.range?.[0] ?? 0), toSyntaxSentence(error as Error));
  }
  const locate: LocateInFile = (path, key) => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (!isNode(node) || !node.range) continue;
      const keys = key !== undefined && length === path.length && isMap(node) ? node.items.map((pair) => pair.key) : [];
      const keyNode = keys.find((candidate) => isScalar(candidate) && String(candidate.value) === key);
      return toPosition((isScalar(keyNode) && keyNode.range?.[0]) || node.range[0]);
    }
    return toPosition(0);
  };
  if (!isObject(value))
    throw createError(locate([]), text.trim() === "" ? "<file> is empty." : "A scenario must be a map with steps.");
  const problems = findScenarioProblems(value, locate, onCommandLine);
  if (problems.length > 0) throw new InvalidScenarioError(problems);
  return { file, scenario: value as unknown as Scenario, text, document, locate };
}

const toSyntaxSentence = ({ code, message }: Error & { code?: string }): string =>
  code === "MULTIPLE_DOCS"
    ? "A file must have one scenario; put the next one in another file."
    : `The file is not YAML: ${message
        .split("\n")[0]!
        .trim()
        .replace(/[.:]?$/, ".")}`;

export interface ObservedValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Returns the text of a scenario with observed values as its expectations. All other text is unchanged. */
export function insertObservations({ text, document }: ParsedScenario, values: readonly ObservedValue[]): string {
  const edits = values.flatMap(({ path, value }) => findEdits(document.getIn(path, true), value));
  // The positions stay valid from the end of the text to its beginning.
  return edits
    .sort((a, b) => b.start - a.start)
    .reduce((now, { start, end, value }) => {
      const before = now.slice(start, end);
      const blanks = before.slice(before.trimEnd().length);
      // An omitted value can have no space after the colon, or before a comment or a brace.
      const space = now[start - 1] === ":" ? " " : "";
      const gap = start === end && ["#", "}"].includes(now.charAt(end)) ? " " : "";
      return now.slice(0, start) + space + formatYaml(value) + blanks + gap + now.slice(end);
    }, text);
}

/** Finds the smallest parts of a node whose values change, so that the layout and comments around them stay. */
function findEdits(node: unknown, value: unknown): readonly { start: number; end: number; value: unknown }[] {
  if (isSeq(node) && Array.isArray(value) && node.items.length === value.length) {
    return node.items.flatMap((item, i) => findEdits(item, value[i]));
  }
  if (isMap(node) && isObject(value) && node.items.length === Object.keys(value).length) {
    const keys = node.items.map(({ key }) => (isScalar(key) ? String(key.value) : undefined));
    if (keys.every((key) => key !== undefined && Object.hasOwn(value, key))) {
      return node.items.flatMap((pair, i) => findEdits(pair.value, value[keys[i]!]));
    }
  }
  if (!isNode(node) || !node.range || (isScalar(node) && node.value === value && value !== null)) return [];
  return [{ start: node.range[0], end: node.range[1], value }];
}

/** Formats a value on one line for any position in a file, spaced as in the pages for users. */
function formatYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatYaml).join(", ")}]`;
  if (isObject(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).map(([key, member]) => `${formatYaml(key)}: ${formatYaml(member)}`);
    return `{ ${members.join(", ")} }`;
  }
  // In a list on one line, the library folds such a string over several lines.
  if (typeof value === "string" && value.includes("\n")) return JSON.stringify(value);
  const document = new Document([value]);
  if (isCollection(document.contents)) document.contents.flow = true;
  const oneLine = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY };
  return document
    .toString({ ...oneLine, flowCollectionPadding: false })
    .trim()
    .slice(1, -1);
}

/** Reads and checks scenario files. Throws UsageError, with a sentence for each problem of all files. */
export async function loadScenarios(
  files: readonly string[],
  { host, parseLine }: Pick<Context, "host" | "parseLine">,
): Promise<readonly ParsedScenario[]> {
  const scenarios: ParsedScenario[] = [];
  const problems: ScenarioProblem[] = [];
  const unreadable: UsageError[] = [];
  for (const file of files) {
    const text = await readScenarioText(host, file).catch((error: unknown) => {
      if (!(error instanceof UsageError)) throw error;
      unreadable.push(error);
    });
    if (text === undefined) continue;
    const lines: Parameters<CommandLineListener>[] = [];
    const fileProblems: ScenarioProblem[] = [];
    try {
      scenarios.push(parseScenario(file, text, (...line) => lines.push(line)));
    } catch (error) {
      if (!(error instanceof InvalidScenarioError)) throw error;
      fileProblems.push(...error.problems);
    }
    // Many forbidden command lines are recognizable before values are known.
    for (const [words, position] of lines) {
      const line = await parseLine(words.map(fillReferences));
      const sentence = line && explainRejection(line);
      if (sentence !== undefined) fileProblems.push({ ...position, sentence });
    }
    problems.push(...fileProblems.sort((a, b) => a.line - b.line || a.column - b.column));
  }
  const [error, ...others] = [...unreadable, ...(problems.length > 0 ? [new InvalidScenarioError(problems)] : [])];
  if (error === undefined) return scenarios;
  if (others.length === 0) throw error;
  const details = others.flatMap(({ message, details }) => [message, ...details]);
  throw new UsageError(error.message, { details });
}

/**
 * Reads a regular file, because reading a pipe or a device can block. A link that leads out of this folder is not
 * followed, because messages quote the file and a pattern of the shell also names the links of a clone.
 */
async function readScenarioText(host: Host, path: string): Promise<string> {
  const absolute = await requireFile(host, path, "<file>");
  if (!(await stat(absolute)).isFile()) throw new UsageError(`<file>: ${path} is not a regular file`);
  const target = await findLinkTargetOutside(host.cwd, absolute);
  if (target !== undefined) {
    throw new UsageError(`<file>: ${path} is a link that leads out of this folder, to ${target}`, {
      hint: "To run that file, use its own path.",
    });
  }
  const bytes = await readInput(host, absolute, "<file>");
  // --update replaces the file, so all its bytes must be known.
  if (!isUtf8(bytes)) throw new UsageError(`<file>: ${path} is not encoded as UTF-8`);
  return bytes.toString("utf8");
}
