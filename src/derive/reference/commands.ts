import type { CommandDeclaration, FlagSpec, PositionalSpec } from "../command-spec.ts";
import { code, renderMarkdownTable } from "./markdown.ts";

/** `svc contracts status COMPOSITE_ID [flags]`. */
export const usage = ({ words, positionals, flags }: CommandDeclaration): string =>
  ["svc", ...words, ...positionals.map(placeholder), ...(flags.length > 0 ? ["[flags]"] : [])].join(" ");

/** What help says of it above its flags; where an operation stands for it, only what that does not say. */
export const describeCommand = ({ summary, description }: CommandDeclaration, said: readonly string[] = []): string[] =>
  [`${summary}.`, ...(description?.split(/\n{2,}/) ?? [])].filter((part) => !said.includes(part));

function placeholder({ name, optional, variadic }: PositionalSpec): string {
  const shown = `${name.toUpperCase()}${variadic ? "…" : ""}`;
  return optional ? `[${shown}]` : shown;
}

export const flagTable = (flags: readonly FlagSpec[]): string[] =>
  renderMarkdownTable(
    ["Flag", "Value", "Meaning"],
    flags.map((flag) => [code(`--${flag.flag}`), valueShown(flag), meaningOf(flag)]),
  );

const valueShown = ({ type, placeholder, choices }: FlagSpec): string =>
  type === "switch" ? "" : (placeholder ?? choices?.map(code).join(", ") ?? type);

const meaningOf = ({ description, required, repeatable, default: preset }: FlagSpec): string =>
  [
    description,
    required ? "required" : "",
    repeatable ? "repeatable" : "",
    preset === undefined ? "" : `default: ${preset}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
