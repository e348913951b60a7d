import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { CommandSpec } from "../../../src/derive/command-spec.ts";
import { loadAllCommands } from "../../support/cli/all-commands.ts";
import { findChangedFiles, getCommandName, testSecret } from "../../support/cli/command-lines.ts";
import {
  type ExpectedError,
  findJsonErrorDefect,
  findTextErrorDefect,
  removeSecretWarning,
} from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { type ServiceFault, serviceFaults, startHostileService } from "../../support/cli/hostile-service.ts";
import {
  localCommands,
  type PreparedLine,
  prepareSendingLines,
  runPrepared,
  selectOneOfEachKind,
} from "../../support/cli/prepared-lines.ts";
import type { RunResult } from "../../support/cli/run-cli.ts";

const lines = await prepareSendingLines();
const nowhere = { url: "http://127.0.0.1:1" };
type AnyFault = ServiceFault | "is unreachable";

/** The exit code and the message of a command for each failure of the service. */
const outcomes: Readonly<Record<AnyFault, ExpectedError>> = {
  "is unreachable": { exit: 75, message: /connection refused/ },
  hangs: { exit: 75, message: /no response within/ },
  stalls: { exit: 75, message: /the response (was incomplete after|stopped in the middle|was slower than)/ },
  "hangs up": { exit: 75, message: /the connection was closed/ },
  "truncates its response": { exit: 75, message: /the connection was closed/ },
  "responds with HTML": {
    exit: 1,
    message: /with HTML|authorization response is incomplete|is not a JSON document|returned no access token/,
  },
  "responds with 502 and HTML": { exit: 75, message: /\(HTTP 502\)/ },
  "responds with 500": { exit: 75, message: /\(HTTP 500\)/ },
  "responds with 401": { exit: 4, message: /\(HTTP 401\)/ },
};

/** Commands with other outcomes. */
const special: Readonly<Record<string, (result: RunResult, fault: AnyFault) => boolean>> = {
  // auth logout removes the sign-in regardless of the server's response to the revocation.
  "auth logout": ({ exit, stdout, stderr }) =>
    exit === 0 &&
    stdout.includes('"revoked": false') &&
    /^\S+ did not confirm that the tokens are revoked\.\n$/.test(stderr),
  // A missing emulator is a valid status.
  "emulator status": ({ exit, stdout, stderr }, fault) =>
    fault === "is unreachable" && exit === 5 && stdout === '{\n  "running": false\n}\n' && stderr === "",
  // A retry is useless, because there is no emulator to stop.
  "emulator stop": (result, fault) =>
    fault === "is unreachable" && findJsonErrorDefect(result, { exit: 5, message: /has already ended/ }) === undefined,
  // doctor prints each check and exits with the code of the first failed check.
  doctor: ({ exit, stdout, stderr }, fault) => {
    const failed = (JSON.parse(stdout) as { status: string }[]).filter(({ status }) => status === "failed");
    return exit === outcomes[fault].exit && failed.length > 0 && stderr === "";
  },
};

const isSilent = (fault: AnyFault): boolean => fault === "hangs" || fault === "stalls";
const getLineName = ({ line }: PreparedLine): string => getCommandName(line.command);
const getOutputKind = ({ line: { command } }: PreparedLine): string =>
  (command as Partial<CommandSpec>).output ?? (command as { spec?: CommandSpec }).spec?.output ?? "";
/** Whether the command forwards HTML pages. */
const acceptsPages = (example: PreparedLine): boolean =>
  ["api", "emulator console asset"].includes(getLineName(example)) ||
  (["passthrough", "html"].includes(getOutputKind(example)) && !example.line.argv.includes("--mint"));
/** Whether the command prints its output while it arrives. */
const isStreaming = (example: PreparedLine): boolean =>
  getLineName(example) === "api" ||
  ["bytes", "events"].includes(getOutputKind(example)) ||
  example.line.argv.includes("--follow");
/** Whether the command waits longer for events or receivers. See `interrupted.test.ts`. */
const isPatient = (example: PreparedLine, fault: AnyFault): boolean =>
  (fault === "stalls" && (getOutputKind(example) === "events" || example.line.argv.includes("--follow"))) ||
  (isSilent(fault) && getLineName(example) === "webhooks trigger");

function findDefect(example: PreparedLine, raw: RunResult, fault: AnyFault): string | undefined {
  const result = removeSecretWarning(raw);
  const { exit, stdout, stderr } = result;
  if (`${stdout}${stderr}`.includes(testSecret)) return `tells a secret: ${formatRunResult(result)}`;
  if (special[getLineName(example)]?.(result, fault)) return undefined;
  if (fault === "responds with HTML" && acceptsPages(example)) {
    return exit === 0 && stderr === "" && stdout.includes("Welcome") ? undefined : formatRunResult(result);
  }
  return findJsonErrorDefect(result, { ...outcomes[fault], streams: isStreaming(example) });
}

/** The files that a failed command may leave: a reported job, and the sign-in to remove. */
const createAllowedFileFilter = (name: string) => (path: string) =>
  path.startsWith("state/jobs/") || (name === "auth logout" && path === "config/tokens.json");

async function checkWithFault(t: TestContext, example: PreparedLine, fault: AnyFault, service: { url: string }) {
  const soon = isSilent(fault) ? ["--timeout", "4s"] : [];
  const { result, cwd, files } = await runPrepared(t, example, service, ["--json", "--quiet", ...soon]);
  return (
    findDefect(example, result, fault) ??
    (await findChangedFiles(cwd, files, createAllowedFileFilter(getLineName(example))))
  );
}

describe("command that sends requests", () => {
  it("sends a request in this test or is listed as local", async (t) => {
    const server = await startHostileService(t);
    const failures = await findFailingCases(
      lines,
      ({ label }) => label,
      async (example) => {
        const endpoint = server.endpoint({ fault: "responds with 500" });
        const { result } = await runPrepared(t, example, endpoint, []);
        if (endpoint.requests() === 0) return "sends nothing";
        // Plain output, like that for users.
        const isJson = example.line.argv.some((word) => word.startsWith("--json"));
        const isOther = getLineName(example) in special || getLineName(example) === "api" || isJson;
        // A shell evaluates its output. This command ends the script.
        const stdout = getLineName(example) === "emulator env" ? result.stdout.replace(/^false\n$/, "") : result.stdout;
        return isOther ? undefined : findTextErrorDefect({ ...result, stdout }, outcomes["responds with 500"]);
      },
    );
    assert.deepEqual(failures, {});
    const coveredNames = new Set(lines.map(getLineName));
    const unseen = (await loadAllCommands())
      .map(getCommandName)
      .filter((name) => !coveredNames.has(name) && !(name in localCommands));
    assert.deepEqual(unseen, []);
  });

  for (const fault of ["is unreachable", ...serviceFaults] as const) {
    it(`exits with ${outcomes[fault].exit} and one message when the service ${fault}`, async (t) => {
      const server = await startHostileService(t);
      const failures = await findFailingCases(
        // Every example runs without a service. The derived commands share one code for the other failures.
        (fault === "is unreachable" ? lines : selectOneOfEachKind(lines)).filter(
          (example) => !isPatient(example, fault),
        ),
        ({ label }) => label,
        (example) =>
          checkWithFault(t, example, fault, fault === "is unreachable" ? nowhere : server.endpoint({ fault })),
        // A timeout is noticed a second late, so more examples run concurrently.
        isSilent(fault) ? 150 : 16,
      );
      assert.deepEqual(failures, {});
    });
  }
});
