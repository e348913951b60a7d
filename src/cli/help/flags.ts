import type { FlagSpec, PositionalSpec } from "../../derive/command-spec.ts";
import type { HelpTable } from "./layout.ts";

/** Longer lists of choices are left to completion and to the message that refuses a wrong one. */
const choicesShown = 12;

/** `<composite-id>`, `[file]`, `<path...>` */
export function positionalTerm({ name, optional, variadic }: PositionalSpec): string {
  const shown = `${name.replaceAll("_", "-")}${variadic ? "..." : ""}`;
  return optional ? `[${shown}]` : `<${shown}>`;
}

export const positionalTable = (positionals: readonly PositionalSpec[]): HelpTable => ({
  title: "Arguments",
  rows: positionals.map((one) => [positionalTerm(one), withNotes(one.description, choiceNote(one.choices))]),
});

/** The flags of a command: those without a section, then each section under its title. */
export function flagTables(flags: readonly FlagSpec[], bodyFrom: readonly string[] = []): HelpTable[] {
  const named = new Set(flags.flatMap(({ section }) => section ?? []));
  return [undefined, ...named].map((title) =>
    flagTable(
      title ?? "Options",
      flags.filter(({ section }) => section === title),
      bodyFrom,
    ),
  );
}

/** Flags of a page. Where one of them has a short form, the long ones stand below each other all the same. */
export function flagTable(title: string, flags: readonly FlagSpec[], bodyFrom: readonly string[] = []): HelpTable {
  const indent = flags.some(({ short }) => short !== undefined) ? "    " : "";
  return {
    title,
    rows: flags.map((spec) => [
      `${spec.short ? `-${spec.short}, ` : indent}${longTerm(spec)}`,
      withNotes(spec.description, ...notesOf(spec, bodyFrom)),
    ]),
  };
}

const longTerm = (spec: FlagSpec): string =>
  spec.type === "boolean" ? `--[no-]${spec.flag}` : [`--${spec.flag}`, ...formatFlagValue(spec)].join(" ");

/** How the value of a flag is shown, here and where it is refused: `<FILE>`; nothing for one that takes none. */
export function formatFlagValue({ flag, type, placeholder, optionalValue }: FlagSpec): string[] {
  if (type === "switch" || type === "boolean") return [];
  const name = placeholder ?? (type === "integer" || type === "number" ? "N" : nounOf(flag));
  return [optionalValue ? `[${name}]` : `<${name}>`];
}

/** What a flag is named after: `--contract-name <NAME>`. */
const nounOf = (flag: string): string => flag.slice(flag.lastIndexOf("-") + 1).toUpperCase();

function notesOf(spec: FlagSpec, bodyFrom: readonly string[]): string[] {
  const isOneWay = spec.target?.in === "body" && bodyFrom.length > 0;
  return [
    ...(spec.required ? [isOneWay ? `required without ${bodyFrom[0]}` : "required"] : []),
    ...choiceNote(spec.choices),
    ...(spec.repeatable ? [spec.choices ? "may be repeated, or A,B" : "may be repeated"] : []),
    ...(spec.default === undefined || spec.default === "" ? [] : [`default: ${spec.default}`]),
  ];
}

function choiceNote(choices: readonly string[] = []): string[] {
  if (choices.length === 0) return [];
  return [choices.length <= choicesShown ? choices.join(", ") : `one of ${choices.length}`];
}

const withNotes = (text: string, ...notes: (string | readonly string[])[]): string => {
  const texts = notes.flat();
  if (texts.length === 0) return text;
  // The default comes last, also where the text itself says what it is.
  const [, before = text, preset] = /^(.*) \((default: [^()]*)\)$/.exec(text) ?? [];
  return `${before} (${[...texts, ...(preset ? [preset] : [])].join("; ")})`.trim();
};
