import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { CommandSpec } from "../../../src/derive/command-spec.ts";
import { getCommandName } from "../../support/cli/command-lines.ts";
import { findFailingCases } from "../../support/cli/failing-cases.ts";
import {
  findRunnerCommand,
  findTerminalEscape,
  hostileText,
  startHostileTextService,
} from "../../support/cli/hostile-text.ts";
import {
  type PreparedLine,
  prepareSendingLines,
  runPrepared,
  selectOneOfEachKind,
} from "../../support/cli/prepared-lines.ts";
import type { RunOptions, RunResult } from "../../support/cli/run-cli.ts";

const lines = await prepareSendingLines();

type Spec = Partial<Pick<CommandSpec, "columns" | "rows" | "fields" | "output">>;
const getSpec = ({ line: { command } }: PreparedLine): Spec => (command as { spec?: Spec }).spec ?? (command as Spec);

/** A response of the expected shape with the attack in every string and one extra field. */
function createHostileResponse(example: PreparedLine): unknown {
  const { columns = [], fields = [], rows } = getSpec(example);
  const row = Object.fromEntries(
    [...fields, ...columns.map((column) => (typeof column === "string" ? column : column.name)), "id", hostileText].map(
      (name) => [name.split(".")[0]!, hostileText],
    ),
  );
  return rows === undefined ? { ...row, items: [row], url: hostileText } : { ...row, [rows]: [row] };
}

/** Rejections in each format. */
const hostileErrorBodies: Readonly<Record<string, unknown>> = {
  "a detail": { detail: hostileText, code: hostileText },
  "a list of details": {
    detail: [{ loc: ["body", hostileText], msg: hostileText, type: hostileText }, { msg: hostileText }],
  },
  fields: { [hostileText]: [hostileText], other: [hostileText] },
  "an error of OAuth": { error: hostileText, error_description: hostileText },
  "an error of the control plane": { error: { code: hostileText, message: hostileText, hint: hostileText } },
};

/** Whether the content is forwarded unchanged to programs. */
const isContent = (example: PreparedLine): boolean =>
  ["api", "files download"].includes(getCommandName(example.line.command)) ||
  ["bytes", "html"].includes(getSpec(example).output ?? "");

/** Whether the output is a file, which must never change. */
const isFile = (example: PreparedLine): boolean => getCommandName(example.line.command) !== "api" && isContent(example);

interface Surroundings {
  /** Whether all examples run there, including derived commands that differ only in their words. */
  readonly everyLine?: boolean;
  readonly flags?: readonly string[];
  readonly options?: Pick<RunOptions, "env" | "tty">;
  readonly findDefect: (result: RunResult, example: PreparedLine) => string | undefined;
}

const surroundings: Readonly<Record<string, Surroundings>> = {
  "in a pipe": {
    everyLine: true,
    flags: ["--verbose"],
    findDefect: ({ stdout, stderr }, example) => findTerminalEscape(isContent(example) ? stderr : stdout + stderr),
  },
  "as JSON, in a pipe": {
    flags: ["--json", "--debug"],
    findDefect: ({ stdout, stderr }, example) => findTerminalEscape(isContent(example) ? stderr : stdout + stderr),
  },
  "on a terminal": {
    flags: ["--no-input", "--color", "--debug"],
    options: { tty: true },
    findDefect: ({ stdout, stderr }) => findTerminalEscape(stdout + stderr),
  },
  "as CSV, on a terminal": {
    flags: ["--no-input", "--format", "csv"],
    options: { tty: true },
    findDefect: ({ stdout, stderr }) => findTerminalEscape(stdout + stderr),
  },
  "in the log of a runner": {
    flags: ["--verbose"],
    options: { env: { GITHUB_ACTIONS: "true", CI: "true" } },
    findDefect: ({ stdout, stderr }, example) => findRunnerCommand(isFile(example) ? stderr : `${stdout}\n${stderr}`),
  },
  "as JSON, in the log of a runner": {
    flags: ["--json"],
    options: { env: { GITHUB_ACTIONS: "true", CI: "true" } },
    findDefect: ({ stdout, stderr }, example) => findRunnerCommand(isFile(example) ? stderr : `${stdout}\n${stderr}`),
  },
};

/** Whether the arguments select an output format. */
const selectsFormat = ({ line: { argv } }: PreparedLine): boolean =>
  argv.some((word) => /^--(json|format|fields)/.test(word));

async function checkHostileResponses(
  t: TestContext,
  at: Surroundings,
  createResponse: (example: PreparedLine) => { status: number; body: unknown },
  tried = selectOneOfEachKind(lines),
) {
  const service = await startHostileTextService(t);
  let printedCount = 0;
  const failures = await findFailingCases(
    tried.filter((example) => !selectsFormat(example)),
    ({ label }) => label,
    async (example) => {
      const { result } = await runPrepared(
        t,
        example,
        service.endpoint(createResponse(example)),
        at.flags ?? [],
        at.options,
      );
      if (`${result.stdout}${result.stderr}`.includes("pwn")) printedCount += 1;
      return at.findDefect(result, example);
    },
    16,
  );
  return { failures, printedCount };
}

describe("untrusted response of a service", () => {
  for (const [location, at] of Object.entries(surroundings)) {
    it(`has no effect on a terminal or runner ${location}`, async (t) => {
      const { failures, printedCount } = await checkHostileResponses(
        t,
        at,
        (example) => ({ status: 200, body: createHostileResponse(example) }),
        at.everyLine ? lines : undefined,
      );
      assert.deepEqual(failures, {});
      assert.ok(printedCount > 50, `only ${printedCount} command lines printed it`);
    });

    it(`has no effect on a terminal or runner as a rejection ${location}`, async (t) => {
      const all = Object.values(hostileErrorBodies);
      let next = 0;
      const { failures, printedCount } = await checkHostileResponses(t, at, () => ({
        status: 422,
        body: all[next++ % all.length],
      }));
      assert.deepEqual(failures, {});
      assert.ok(printedCount > 100, `only ${printedCount} command lines printed it`);
    });
  }
});
