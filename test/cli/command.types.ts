import { defineCommand } from "../../src/cli/command.ts";

/** Compiled by npm run types, never run: what the code of a command gets follows from what it declares. */
export const command = defineCommand({
  words: ["example"],
  summary: "An example",
  positionals: [
    { name: "kind", description: "", choices: ["one", "two"] },
    { name: "files", description: "", variadic: true },
    { name: "more", description: "", optional: true },
  ],
  flags: [
    { flag: "count", type: "integer", description: "" },
    { flag: "header", type: "text", description: "", repeatable: true },
    { flag: "strict", type: "text", description: "", optionalValue: true },
    { flag: "mode", type: "text", description: "", choices: ["real", "manual"] },
    { flag: "dry-run", type: "switch", description: "" },
  ],
  examples: [],
  readsDerived: { flags: [{ flag: "data", type: "text" }], positionals: [{ name: "id" }] },
  async run({ flags, positionals }) {
    const typed: {
      count: number | undefined;
      header: readonly string[] | undefined;
      strict: string | true | undefined;
      mode: "real" | "manual" | undefined;
      isDry: boolean | undefined;
      data: string | undefined;
      kind: "one" | "two";
      files: readonly string[];
      id: string;
    } = {
      count: flags.count,
      header: flags.header,
      strict: flags.strict,
      mode: flags.mode,
      isDry: flags["dry-run"],
      data: flags.data,
      kind: positionals.kind,
      files: positionals.files,
      id: positionals.id,
    };
    // @ts-expect-error: a misspelt flag
    void flags.cuont;
    // @ts-expect-error: a misspelt positional
    void positionals.file;
    // @ts-expect-error: a number is no text
    const text: string | undefined = flags.count;
    // @ts-expect-error: an optional positional may be missing
    const more: string = positionals.more;
    // @ts-expect-error: never one of the choices
    if (flags.mode === "auto") return undefined;
    void [typed, text, more];
    return undefined;
  },
});
