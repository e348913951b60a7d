import { omitComments, type SourceFile } from "./repository.ts";

interface Ban {
  readonly label: string;
  readonly pattern: RegExp;
  readonly home: readonly string[];
  readonly instead: string;
}

/** Calls whose times or ids depend on the machine, or whose names depend on the language. */
export const bans: readonly Ban[] = [
  {
    label: "Date.now()",
    pattern: /\bDate\.now\b/,
    home: ["src/base/", "emulator/clock/"],
    instead: "the port Clock (virtual) or Wall",
  },
  {
    label: "new Date()",
    pattern: /\bnew Date\(\s*\)/,
    home: ["src/base/", "emulator/clock/"],
    instead: "the port Clock (virtual) or Wall",
  },
  {
    label: "performance.now()",
    pattern: /\bperformance\.now\b/,
    home: ["src/base/", "emulator/clock/"],
    instead: "the port Wall",
  },
  {
    label: "a bare timer",
    pattern: /\bset(Timeout|Interval|Immediate)\(|\bnode:timers\b/,
    home: ["src/base/", "emulator/clock/"],
    instead: "Wall.sleep",
  },
  { label: "an id of its own making", pattern: /\brandomUUID\b/, home: ["src/base/"], instead: "the port Ids" },
  {
    label: "process.exit()",
    pattern: /\bprocess\.exit\(/,
    home: ["bin/", "src/cli/process/process-host.ts"],
    instead: "an exit code returned by main",
  },
  {
    label: "writing to a stream by hand",
    pattern: /\bstd(out|err)\.write\(|\bwrite\((\w+\.)?std(out|err)\b/,
    home: ["bin/", "src/cli/output/", "src/cli/output/ci.ts"],
    instead: "Output, or a Printer: what they print is made harmless",
  },
  {
    label: "a recursive mkdir",
    pattern: /\bmkdir(Sync)?\(.*\brecursive\b/,
    home: [],
    instead: "makeFolder: below /proc it never comes to an end",
  },
  {
    label: "a record that leaves the key __proto__ out",
    pattern: /\.record\(z\.string\(\)/,
    home: ["src/api/shapes.ts"],
    instead: "dictionary",
  },
  {
    label: "a table by name that inherits names",
    // A copy of another object inherits the same names.
    pattern: /^\s*(?:export )?(?:const|let|readonly) #?\w+: (?:Readonly<)?Record<string, .*> = \{(?! \.\.\.)/,
    home: ["src/base/object.ts"],
    instead: "lookupTable, a Map, or Object.create(null): constructor names something in every other object",
  },
];

/** Lists every banned call outside its home, with line and remedy. */
export const findBannedCalls = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) => {
    // Replaces comments with the same number of empty lines, to preserve line numbers.
    const lines = omitComments(
      text.replace(/\/\*[\s\S]*?\*\//g, (all) => "\n".repeat(all.split("\n").length - 1)),
    ).split("\n");
    return bans
      .filter(({ home }) => !home.some((prefix) => path.startsWith(prefix)))
      .flatMap(({ label, pattern, instead }) =>
        lines.flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1} has ${label}; use ${instead}`] : [])),
      );
  });
