import { createHash } from "node:crypto";
import { ts } from "@ts-morph/common";
import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import type { SourceFile } from "./repository.ts";

/**
 * Vendor names, hashed so that this list does not contain them. chat_a, chat_b, crm_a, crm_b, billing and mailer
 * replace them.
 */
const vendors = new Set([
  "877c3aec832cd410",
  "91b6da07adf530f8",
  "3ccbd9105a45d8fc",
  "b3e9dea15253218f",
  "40a9f85ef6a367ca",
  "b840b69868044153",
  "9fbf261b62c1d7c0",
  "40462d05ebdabe76",
  "29a3406226755842",
  "50b0085e2e91f6c6",
  "24415532349ddf70",
  "e473f24d4325d51a",
  "5077841ff0064e12",
  "18374857989c1c58",
  "74be864f095bb249",
  "0285f5881b359cf7",
  "2ec64195313ea71c",
]);

/** Results by word. The files have millions of words but only thousands of different ones. */
const vendorResults = new Map<string, boolean>();

function isVendor(word: string): boolean {
  const cachedResult = vendorResults.get(word);
  if (cachedResult !== undefined) return cachedResult;
  const result = vendors.has(createHash("sha256").update(word).digest("hex").slice(0, 16));
  vendorResults.set(word, result);
  return result;
}

const splitIntoWords = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? [];

/** Lists every vendor name in a path or a text. Imports of third-party clients, which tests need, are skipped. */
export const findVendorWords = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [path, ...text.replace(/(?:from|import\(|import)\s*["'][^"'.][^"']*["']/g, "").split("\n")].flatMap((line, at) =>
      splitIntoWords(line)
        .filter(isVendor)
        .map((word) => `${path}${at === 0 ? "" : `:${at}`} says ${word}`),
    ),
  );

/** Names of types and functions that were unclear or had several meanings, with their replacements. */
const retiredNames: Readonly<Record<string, string>> = {
  AnswerTo: "OutputOf",
  Asked: "a noun, such as SignInRequest",
  Given: "a noun, such as PartyInput",
  HalfDone: "PartialFailureError",
  Home: "a world, W",
  Kind: "JobHandler",
  Place: "a noun, such as Machine",
  Pull: "TransitionOptions",
  Ran: "FinishedEntry",
  Recording: "Commit",
  Said: "a message or a reply",
  answerTo: "serve",
  meant: "didYouMean",
  pull: "TransitionOptions",
  pulled: "applied",
  roomFor: "capacityFor",
  said: "a message or a reply",
};

/** Words to replace with the standard term in names, comments and prose. */
const retiredWords: Readonly<Record<string, string>> = {
  deed: "action",
  deeds: "actions",
  happening: "occurrence",
  happenings: "email-events, occurrences",
  judge: "check, read",
  judged: "checked, schemaChecked",
  judgement: "check",
  judges: "checks",
  judging: "checking",
  lane: "concurrency key",
  lanes: "concurrency keys",
  misfit: "conflict, SchemaMismatchError",
  misfits: "conflicts",
  rooms: "capacities",
};

/** Types with a single meaning, which can be declared only in their home. */
const homes: Readonly<Record<string, { readonly meaning: string; readonly path: RegExp }>> = {
  Verdict: { meaning: "whether a signature holds", path: /^src\/schemes\// },
};

/** Splits a name into words in lower case. `deliveryLanes` and `delivery-lanes` contain `lanes`. */
const splitName = (name: string): string[] => name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.map(convertToLower) ?? [];
const convertToLower = (word: string): string => word.toLowerCase();

/** Matches the names that a file declares. Every used name is declared in some file. */
const declaration = /(?<![{,] )\b(?:const|let|function\*?|class|interface|type) ([A-Za-z]\w*)/g;

/** Lists every retired word in paths, names and prose, with its replacement. */
export const findRetiredWords = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) => {
    const names = [path, ...new Set(text.match(/[A-Za-z]+/g))];
    const declared = [...text.matchAll(declaration)].map(([, name]) => name!);
    const byName = declared.filter((name) => Object.hasOwn(retiredNames, name));
    const byWord = names.flatMap(splitName).filter((word) => Object.hasOwn(retiredWords, word));
    const astray = Object.keys(homes).filter((word) => declared.includes(word) && !homes[word]!.path.test(path));
    return [
      ...byName.map((name) => `${path} says ${name} for ${retiredNames[name]}`),
      ...[...new Set(byWord)].map((word) => `${path} says ${word} for ${retiredWords[word]}`),
      ...astray.map((word) => `${path} says ${word}, which means ${homes[word]!.meaning}`),
    ];
  });

/**
 * Matches clauses used as a subject, and idioms that the glossary of CONTRIBUTING.md replaces, in user-facing texts.
 */
const unclear =
  /\b(?:whoever|nobody|somebody|heed|mend|anew|amid|so many|so long|left out|of before|passed over|put off|for ever|in the place of|cannot both be given|cannot go with|goes with|means nothing)\b/i;

/** Lists help texts with a retired word: the summary, the description, arguments, options and titles of a command. */
export const findUnclearHelp = (commands: readonly CommandDeclaration[]): string[] =>
  commands.flatMap((command) => {
    const { words, summary, description = "", positionals, flags, examples } = command;
    const texts = [summary, description, ...[...positionals, ...flags].map((one) => one.description)];
    return [...texts, ...examples.map(({ title }) => title)].flatMap((text) => {
      const [match] = unclear.exec(text) ?? [];
      return match === undefined ? [] : [`svc ${words.join(" ")} says ${match.trim()}: ${text}`];
    });
  });

/** Matches additional words in messages, because an error names its subject. */
const unclearInMessages =
  /\b(?:whoever|nobody|somebody|anybody|heed(?:s|ed)?|mend(?:s|ed)?|hasten|lacks?|tells?|told|twin|anew|amid|beside|left out|of before|passed over|put off|for ever|in the place of|so many|so long|it did not come|came near|goes on|takes back|cannot both be given|cannot go with|goes with|means nothing|(?<!there )is no (?!longer))\b/i;

const flagToEndOfLine = /--.*?(?=\\n|$)/gm;
const spaces = /(?:\s|\\(?:[nrt]|u[\da-f]{4}))+/gi;

/**
 * Reports whether a file can contain an unclear message, because parsing all files takes seconds. The words of a
 * message are spelled the same in the file, except for spaces and flags.
 */
const mayBeUnclear = ({ text }: SourceFile): boolean =>
  [text, text.replace(flagToEndOfLine, "")].some((one) => unclearInMessages.test(one.replace(spaces, " ")));

/** Extracts string literals, templates and JSX texts with at least three words, with their lines. */
function extractMessages({ path, text }: SourceFile): { readonly words: string; readonly line: number }[] {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
  const texts: { words: string; line: number }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    const isText =
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node) ||
      ts.isJsxText(node);
    if (isText && /[A-Za-z]\S* +\S+ +\S/.test(node.text)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      texts.push({ words: node.text.replace(/--.*$/gm, "").trim().replace(/\s+/g, " "), line });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return texts;
}

/** Lists messages, hints, notes and page texts with a retired word. */
export const findUnclearMessages = (files: readonly SourceFile[]): string[] =>
  files.filter(mayBeUnclear).flatMap((file) =>
    extractMessages(file).flatMap(({ words, line }) => {
      const [match] = unclearInMessages.exec(words) ?? [];
      return match === undefined ? [] : [`${file.path}:${line} says ${match.trim()}: ${words}`];
    }),
  );

const maxSummary = 60;

/** Reports whether a word is an imperative, including verbs that resemble other words or end in s. */
const isImperative = (word: string): boolean =>
  /^[A-Z][a-z]+$/.test(word) && (!/(?:s|ed|ing|tion)$/.test(word) || ["Process", "Pass"].includes(word));

/** Lists summaries that are too long, end in a full stop, or do not start with a verb. */
export const findBadSummaries = (commands: readonly CommandDeclaration[]): string[] =>
  commands.flatMap(({ words, summary }) => {
    const [first = ""] = summary.split(/[\s,]/);
    return [
      ...(summary.length > maxSummary ? [`${summary.length} characters`] : []),
      ...(isImperative(first) ? [] : [`begins with ${first}`]),
      ...(/[.:;]$|: |; /.test(summary) ? ["is more than one phrase"] : []),
    ].map((label) => `svc ${words.join(" ")} ${label}: ${summary}`);
  });

const machine = [
  { what: "a machine path", pattern: /(?:^|["'\s(])\/(?:home|Users|root|work)\/[\w.-]+/ },
  { what: "a registry host", pattern: /https?:\/\/(?:[\w-]+\.)*(?:npmjs\.(?:org|com)|yarnpkg\.com|jfrog\.io)\b/ },
  { what: "an unfinished thought", pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/ },
];

/** Lists paths of one machine and dates of one day. */
export const findStrayMarks = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        machine
          .filter(({ pattern }) => pattern.test(line))
          .map(({ what: label }) => `${path}:${at + 1} holds ${label}`),
      ),
  );
