import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CommandDeclaration, CommandSpec, FlagSpec, PositionalSpec } from "../../../src/derive/command-spec.ts";
import { loadAllCommands } from "../../support/cli/all-commands.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import {
  credentials,
  findChangedFiles,
  getCommandName,
  outputFileFlags,
  writeFiles,
} from "../../support/cli/command-lines.ts";
import { findTextErrorDefect } from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { getNoRetryFlags } from "../../support/cli/prepared-lines.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";

/** A position of a command line that names a file. */
interface FileInput {
  readonly command: CommandDeclaration;
  /** `--data` or `<file>`. */
  readonly name: string;
  readonly spec: FlagSpec | PositionalSpec;
}

const isFlag = (spec: FlagSpec | PositionalSpec): spec is FlagSpec => "flag" in spec;
/** The state of an emulator, which may be missing (test/cli/emulator). */
const isState = ({ flag, placeholder }: FlagSpec): boolean =>
  (flag === "file" && placeholder === "FILE") || (flag === "from" && placeholder === "NAME|FILE");
/** Removes the name of a file, or creates the folder (test/cli/agent). */
const isOther = ({ flag }: FlagSpec): boolean => flag === "remove" || flag === "dir";
const acceptsFile = (spec: FlagSpec | PositionalSpec): boolean =>
  isFlag(spec)
    ? /FILE|DIR|^PATH(\|-)?$/.test(spec.placeholder ?? "") && !isState(spec) && !isOther(spec)
    : /\bfiles?\b/i.test(spec.description);

const fileInputs: readonly FileInput[] = (await loadAllCommands()).flatMap((command) =>
  [...command.positionals, ...command.flags]
    .filter(acceptsFile)
    .map((spec) => ({ command, spec, name: isFlag(spec) ? `--${spec.flag}` : `<${spec.name}>` })),
);
const formatName = ({ command, name }: FileInput): string => `${getCommandName(command)} ${name}`;
const isWritten = ({ spec }: FileInput): boolean => isFlag(spec) && outputFileFlags.has(spec.flag);
const readInputs = fileInputs.filter((input) => !isWritten(input));
const writtenInputs = fileInputs.filter(isWritten);

const key = Buffer.alloc(64, 7).toString("base64");
/** Arguments that are checked before the file, in addition to the required ones. */
const besides: readonly (readonly [command: RegExp, words: string])[] = [
  [/^router (un)?map-.* (<file>|--.*-out|--report)$/, "--cluster eu-1"],
  [/^router unmap-.* <file>$/, "--confirm eu-1"],
  [/^router (un)?map-external.* (<file>|--.*-out|--report)$/, "--integration-type CHAT_B"],
  [/^router offboard/, "eu-1"],
  [/^router offboard (?!--apply)/, "--confirm eu-1"],
  [/^router offboard --(.*-out|report)$/, "--from kinds.txt"],
  [/^webhooks (verify|explain) (?!--headers)/, "--signature 00"],
  [/^webhooks (replay|certify)/, "--to 3000"],
  [/^webhooks replay --from/, "--last 1"],
  [/^webhooks replay --key-file/, "rows.txt --sign"],
  [/^webhooks trigger/, "CONTRACT_SIGNED"],
  [/^crm-b open --envelope/, "--consumer-secret-file rows.txt"],
  [/^emulator start/, "--port 0"],
  [/^run --seed/, "--record story.yaml"],
  [/^billing event --password-file/, "--username x"],
  [/^(emulator exec|auth certify)/, "-- true"],
];
/** A command line with this file in this position and valid arguments elsewhere. */
function createLine({ command, name: option, spec }: FileInput, file: string): string[] {
  const name = `${getCommandName(command)} ${option}`;
  const positionals = command.positionals.flatMap((positional) => {
    if (positional === spec) return [file];
    // All arguments after the first word belong to the command to run.
    if (/^(emulator exec|auth certify)/.test(name)) return [];
    if (
      positional.optional &&
      (isFlag(spec) || command.positionals.indexOf(positional) > command.positionals.indexOf(spec as PositionalSpec))
    )
      return requiresRows(option) && positional.name === "file" ? ["rows.txt"] : [];
    if (name.startsWith("config set")) return ["client_secret"];
    return [
      positional.choices?.[0] ??
        (positional.type === "integer" ? "1" : acceptsFile(positional) ? "rows.txt" : positional.name),
    ];
  });
  const needed = command.flags
    .filter((flag) => flag.required && flag !== spec && (flag.target?.in !== "body" || option === "--output"))
    .flatMap(({ flag, choices }) => [`--${flag}`, flag === "file" ? "rows.txt" : (choices?.[0] ?? "1")]);
  const extraArgs = besides
    .filter(([commandPattern]) => commandPattern.test(name))
    .flatMap(([, words]) => words.split(" "));
  const flagArgs = isFlag(spec) ? [`--${spec.flag}`, spec.isBase64 ? `@${file}` : file] : [];
  const hasRest = extraArgs.indexOf("--");
  const flags = hasRest < 0 ? extraArgs : extraArgs.slice(0, hasRest);
  return [
    ...command.words,
    ...positionals,
    ...needed,
    ...flagArgs,
    ...flags,
    ...(hasRest < 0 ? [] : extraArgs.slice(hasRest)),
  ];
}

/** Whether the output requires input rows. */
const requiresRows = (name: string): boolean => ["--errors-out", "--html", "--plan-out", "--report"].includes(name);

const existingFiles = {
  "rows.txt": "ada@example.com\n",
  "kinds.txt": "client c-1\n",
  "empty.json": "",
  "bad.json": "{",
};

/** A folder with invalid files of each kind. */
async function createTrapFolder(t: TestContext): Promise<string> {
  const cwd = await createTestFolder(t);
  await writeFiles(cwd, existingFiles);
  await mkdir(join(cwd, "folder"));
  await symlink("loop.json", join(cwd, "loop.json"));
  return cwd;
}

const run = (argv: readonly string[], cwd: string, options: RunOptions = {}) => {
  // The arguments after -- belong to another program.
  const rest = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const nowhere = ["--base-url", "http://127.0.0.1:1", ...getNoRetryFlags(argv), "--yes", "--no-input"];
  const env = {
    ...credentials,
    SVC_CONFIG_DIR: join(cwd, "config"),
    SVC_STATE_DIR: join(cwd, "state"),
    SVC_WEBHOOK_HMAC_KEY: key,
  };
  return runCli([...argv.slice(0, rest), ...nowhere, ...argv.slice(rest)], { cwd, env, ...options });
};

async function checkFileInput(
  t: TestContext,
  input: FileInput,
  file: string,
  message: RegExp,
  options: RunOptions = {},
) {
  const cwd = await createTrapFolder(t);
  const result = await run(createLine(input, file), cwd, options);
  const names = result.stderr.includes(input.name) || result.stderr.includes(input.name.replaceAll("_", "-"));
  return (
    findTextErrorDefect(result, { exit: 2, message }) ??
    (names ? undefined : `does not name ${input.name}: ${formatRunResult(result)}`) ??
    (await findChangedFiles(cwd, existingFiles))
  );
}

const canBeFolder = ({ command, spec }: FileInput): boolean =>
  isFlag(spec) && (spec.placeholder === "DIR" || getCommandName(command) === "contracts reconcile");

/** Whether the file may be empty, like a request body, a delivery or an upload. */
const canBeEmpty = ({ command, name, spec }: FileInput): boolean =>
  (isFlag(spec) && spec.isBase64 === true) ||
  ["raw", "stream"].includes((command as Partial<CommandSpec>).request?.body?.kind ?? "") ||
  (["raw", "stream"].includes((command as { spec?: CommandSpec }).spec?.request.body?.kind ?? "") &&
    name === "--file") ||
  // An empty state can be repaired, and a receiver may have received no deliveries.
  /^(files upload <path>|intake create --file|contracts reconcile --received|webhooks replay --from|emulator repair <file>|api --data|webhooks (sign|verify|explain) <body>|webhooks (verify|explain) --headers)$/.test(
    `${getCommandName(command)} ${name}`,
  );

describe("input file of a command line", () => {
  it("is tested in more than 120 positions", () => assert.ok(readInputs.length > 120, String(readInputs.length)));

  const cases: [string, string, RegExp, (input: FileInput) => boolean][] = [
    ["is missing", "none.json", /no such file|cannot read/, () => true],
    ["is a folder", "folder", /is a folder, not a file/, (input) => !canBeFolder(input)],
    ["has no name", "", /must not be empty/, (input) => !canBeFolder(input)],
    ["cannot be read", "loop.json", /cannot read|ELOOP/, () => true],
    [
      "is empty",
      "empty.json",
      /is empty|has no rows|must be a file written by --plan-out/,
      (input) => !canBeEmpty(input),
    ],
    [
      "is a file instead of a folder",
      "empty.json",
      /cannot read .*: it is not a folder/,
      ({ spec }) => isFlag(spec) && spec.placeholder === "DIR",
    ],
  ];
  for (const [label, file, message, concerns] of cases) {
    it(`is rejected with exit 2 and its name if it ${label}`, async (t) => {
      const failures = await findFailingCases(readInputs.filter(concerns), formatName, (input) =>
        checkFileInput(t, input, file, message),
      );
      assert.deepEqual(failures, {});
    });
  }

  it("is never read from a terminal", async (t) => {
    const piped = readInputs.filter(({ spec }) =>
      isFlag(spec) ? (spec.placeholder ?? "").endsWith("|-") : /- for standard input/.test(spec.description),
    );
    assert.ok(piped.length > 100, String(piped.length));
    const failures = await findFailingCases(piped, formatName, (input) =>
      checkFileInput(t, input, "-", /is a terminal/, { tty: true }),
    );
    assert.deepEqual(failures, {});
  });
});

describe("output file of a command line", () => {
  const cases: [string, string, RegExp][] = [
    ["is a folder", "folder", /is a folder, not a file/],
    ["has no name", "", /must not be empty/],
    ["is standard output", "-", /must be a file, got "-"/],
    [
      "is in a missing folder",
      "none/file.json",
      /cannot write .*it does not exist.*\n {2}Create it, or choose another location\./,
    ],
    ["is below a file", "rows.txt/file.json", /cannot write .*a part of its path is not a folder/],
  ];
  for (const [label, file, message] of cases) {
    it(`is rejected with exit 2 before anything is sent if it ${label}`, async (t) => {
      // --save creates a missing folder.
      const concerned = writtenInputs.filter(
        ({ name }) => (name !== "--save" || label === "is below a file") && !(file === "-" && name === "--output"),
      );
      const failures = await findFailingCases(concerned, formatName, (input) =>
        checkFileInput(t, input, file, message),
      );
      assert.deepEqual(failures, {});
    });
  }
});

it("a file without an end is too large for a document", async (t) => {
  const cwd = await createTestFolder(t);
  await symlink("/dev/zero", join(cwd, "zero.json"));
  const { exit, stderr } = await runCli("emulator exec --seed zero.json -- true", { cwd });
  assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: --seed: zero.json is too large (limit: 64 MiB)"]);
});
