import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findChangedFiles, getCommandName, testSecret } from "../../support/cli/command-lines.ts";
import { removeSecretWarning } from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { startHostileService } from "../../support/cli/hostile-service.ts";
import { type PreparedLine, prepareSendingLines, runPrepared } from "../../support/cli/prepared-lines.ts";
import type { RunResult } from "../../support/cli/run-cli.ts";

const lines = await prepareSendingLines();
const getLineName = ({ line }: PreparedLine): string => getCommandName(line.command);

/** Whether the error reports completed work, also with --json: a started job, a removed sign-in. */
function reportsProgress(example: PreparedLine, { stderr }: RunResult): boolean {
  if (!isJob(example) && getLineName(example) !== "auth logout") return false;
  const { error } = JSON.parse(stderr) as {
    error: { code: string; exitCode: number; details: string[]; next: { argv: string[] }[] };
  };
  if (error.code !== "interrupted" || error.exitCode !== 130) return false;
  if (!isJob(example)) return /^The sign-in at \S+ is removed from this machine\. /.test(error.details[0] ?? "");
  return (
    /^job_\w+ stopped after 0 rows$/.test(error.details[0] ?? "") &&
    error.next[0]!.argv.slice(0, 4).join(" ") === "svc router jobs resume"
  );
}

const isJob = (example: PreparedLine): boolean =>
  /^router ((un)?map-|jobs resume|offboard)/.test(getLineName(example)) &&
  !/--(email-hash-list|client-ids|\w+-tokens)/.test(example.label);

function findDefect(example: PreparedLine, raw: RunResult): string | undefined {
  const result = removeSecretWarning(raw);
  const { exit, stdout, stderr } = result;
  if (`${stdout}${stderr}`.includes(testSecret) || exit !== 130 || stdout !== "") return formatRunResult(result);
  return stderr === "" || reportsProgress(example, result) ? undefined : formatRunResult(result);
}

describe("command that sends requests", () => {
  it("exits with 130 on Ctrl-C during a request, silently and without leftover files", async (t) => {
    const server = await startHostileService(t);
    const failures = await findFailingCases(
      lines,
      ({ label }) => label,
      async (example) => {
        let interrupt: (() => void) | undefined;
        const endpoint = server.endpoint({ fault: "hangs", onFault: () => interrupt?.() });
        const { result, cwd, files } = await runPrepared(t, example, endpoint, ["--json", "--quiet"], {
          onStart: ({ signal }) => {
            interrupt = () => signal("SIGINT");
          },
        });
        const mayChange = (path: string) =>
          path.startsWith("state/jobs/") || (getLineName(example) === "auth logout" && path === "config/tokens.json");
        return findDefect(example, result) ?? (await findChangedFiles(cwd, files, mayChange));
      },
      50,
    );
    assert.deepEqual(failures, {});
  });
});
