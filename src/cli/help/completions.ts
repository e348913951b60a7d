import { groupBy } from "../../base/object.ts";
import { quoteShellWord } from "../../base/text.ts";
import type { FlagSpec } from "../../derive/command-spec.ts";
import { findFlag, isBareWord, skipFlagValues, startsWithWords } from "../parse/argv.ts";
import { type DescribedCommand, formatFlagValue, getUnderlyingOperation } from "../parse/declaration.ts";
import { globalFlags } from "../parse/globals.ts";

/** Directives of the shell scripts. All of them use the numbers of cobra. */
const directives = { anything: 0, noSpace: 2, noFiles: 4 } as const;

interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Command tree for completion, which loads only the groups that the words need. */
interface CompletionTree {
  readonly groups: readonly Candidate[];
  readonly loadDeclarations: (group: string) => Promise<readonly DescribedCommand[]>;
  readonly listProfiles: () => Promise<readonly string[]>;
  readonly listSnapshots: () => Promise<readonly string[]>;
}

interface CompletionResult {
  readonly candidates: readonly Candidate[];
  readonly directive: number;
}

const toCandidates = (values: readonly string[]) => values.map((value) => ({ value, description: "" }));
const offerOnly = (candidates: readonly Candidate[]) => ({ candidates, directive: directives.noFiles });
const files: CompletionResult = { candidates: [], directive: directives.anything };

/** Finds the candidates at the cursor. `words` follow `svc`. The user is typing the last word, which can be empty. */
export async function findCompletions(words: readonly string[], tree: CompletionTree): Promise<string> {
  const prefix = words.at(-1) ?? "";
  const { candidates, directive } = await findCandidates(words.slice(0, -1), prefix, tree);
  const value = prefix.startsWith("--") && prefix.includes("=") ? prefix.slice(prefix.indexOf("=") + 1) : prefix;
  // Shells insert candidates literally. The name of a snapshot from another machine must therefore not be a command.
  const fitting = candidates.filter(
    (candidate) => candidate.value.startsWith(value) && quoteShellWord(candidate.value) === candidate.value,
  );
  return [
    ...fitting.map(({ value, description }) => (description ? `${value}\t${toOneLine(description)}` : value)),
    `:${directive}`,
    "",
  ].join("\n");
}

const toOneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 120);

async function findCandidates(before: readonly string[], prefix: string, tree: CompletionTree) {
  if (before.includes("--")) return files;
  const group = getBareWords(before, [])[0];
  if (group === undefined) {
    if (prefix.startsWith("-")) return completeFlagOrValue(prefix, undefined, before, tree);
    const spec = findAwaitedValue(before, []);
    return spec ? listValues(spec, prefix, undefined, tree) : offerOnly(tree.groups);
  }
  const declarations = await tree.loadDeclarations(group);
  const bare = getBareWords(
    before,
    declarations.flatMap(({ flags }) => flags),
  );
  const command = findDeepest(declarations, bare);
  const spec = findAwaitedValue(before, command?.flags ?? []);
  if (spec) return listValues(spec, prefix, command, tree);
  if (prefix.startsWith("-")) return completeFlagOrValue(prefix, command, before, tree);
  const next = listNextWords(declarations, bare);
  if (next.length > 0) return offerOnly(next);
  return command ? completePositional(command, bare.length - command.words.length, prefix, tree) : offerOnly([]);
}

const getBareWords = (words: readonly string[], flags: readonly FlagSpec[]): string[] =>
  [...skipFlagValues(words, flags)].map(([, word]) => word).filter(isBareWord);

function findAwaitedValue(before: readonly string[], flags: readonly FlagSpec[]): FlagSpec | undefined {
  const last = before.at(-1);
  if (last === undefined || !last.startsWith("-") || last.includes("=")) return undefined;
  const spec = findFlag(last, flags);
  return spec && formatFlagValue(spec).length > 0 && !spec.optionalValue ? spec : undefined;
}

const findDeepest = (declarations: readonly DescribedCommand[], bare: readonly string[]) =>
  declarations.filter(({ words }) => startsWithWords(bare, words)).sort((a, b) => b.words.length - a.words.length)[0];

function listNextWords(declarations: readonly DescribedCommand[], bare: readonly string[]): Candidate[] {
  const below = declarations.filter(({ words }) => words.length > bare.length && startsWithWords(words, bare));
  const getWord = ({ words }: DescribedCommand) => words[bare.length]!;
  return [...groupBy(below, getWord)].map(([value, commands]) => {
    const command = commands.find(({ words }) => words.length === bare.length + 1);
    return { value, description: command?.summary ?? "" };
  });
}

async function completeFlagOrValue(
  prefix: string,
  command: DescribedCommand | undefined,
  before: readonly string[],
  tree: CompletionTree,
): Promise<CompletionResult> {
  const flags = [...(command?.flags ?? []), ...globalFlags];
  if (prefix.includes("=")) {
    const name = prefix.slice(0, prefix.indexOf("="));
    if (name === "--json") return completeFields(prefix.slice(7), command);
    const spec = findFlag(name, command?.flags ?? []);
    return spec ? listValues(spec, prefix.slice(name.length + 1), command, tree) : offerOnly([]);
  }
  const givenWords = new Set(before);
  const available = flags.filter(({ flag, repeatable }) => repeatable || !givenWords.has(`--${flag}`));
  return offerOnly([
    ...available.flatMap(({ flag, type, description }) => [
      { value: `--${flag}`, description },
      ...(type === "boolean" ? [{ value: `--no-${flag}`, description }] : []),
    ]),
    { value: "--help", description: "Show help" },
  ]);
}

/** Lists the values of a flag, or of a positional in the form of one. */
async function listValues(
  { flag, placeholder = "", choices, suggestions }: Pick<FlagSpec, "flag" | "placeholder" | "choices" | "suggestions">,
  prefix: string,
  command: DescribedCommand | undefined,
  { listProfiles, listSnapshots }: CompletionTree,
): Promise<CompletionResult> {
  const isLower = /[a-z]/.test(prefix);
  const words = choices ?? suggestions?.map((word) => (isLower ? word.toLowerCase() : word));
  if (words) return offerOnly(toCandidates(words));
  if (flag === "profile") return offerOnly(toCandidates(await listProfiles()));
  if (flag === "fields") return completeFields(prefix, command);
  if (!isPath(placeholder)) return offerOnly([]);
  return flag === "from" ? { ...files, candidates: toCandidates(await listSnapshots()) } : files;
}

/** Completes fields of the response after typed ones: `id,st`. */
function completeFields(prefix: string, command: DescribedCommand | undefined): CompletionResult {
  const fieldNames = (command && getUnderlyingOperation(command).fields) ?? [];
  const start = prefix.slice(0, prefix.lastIndexOf(",") + 1);
  const givenFields = new Set(start.split(","));
  const values = fieldNames.filter((name) => !givenFields.has(name)).map((name) => start + name);
  return { candidates: toCandidates(values), directive: directives.noFiles | directives.noSpace };
}

async function completePositional(command: DescribedCommand, index: number, prefix: string, tree: CompletionTree) {
  const { positionals } = command;
  const spec = positionals[index] ?? (positionals.at(-1)?.variadic ? positionals.at(-1) : undefined);
  if (!spec) return offerOnly([]);
  if (namesSnapshot(command, index)) return offerOnly(toCandidates(await tree.listSnapshots()));
  return listValues({ ...spec, flag: spec.name, placeholder: spec.name }, prefix, command, tree);
}

const namesSnapshot = ({ words }: DescribedCommand, index: number): boolean =>
  words[1] === "snapshot" && words[2] !== "save" && (index === 0 || words[2] === "diff");

const isPath = (name: string): boolean => /^(?:name\|)?(file|path|folder|dir)/i.test(name);
