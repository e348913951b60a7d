import { createInterface } from "node:readline";
import spawn from "cross-spawn";
import type { Context } from "../../command.ts";
import { CommandFailedError } from "../../process/failure.ts";
import type { ParsedScenario } from "./parse.ts";
import type { ScenarioResult } from "./result.ts";

/** Runs scenarios in several processes of this program, and yields the results in the order of the files. */
export async function* runInProcesses(
  scenarios: readonly ParsedScenario[],
  jobs: number,
  isUpdate: boolean,
  context: Context,
): AsyncGenerator<ScenarioResult> {
  const files = scenarios.map(({ file }) => file);
  const workers = Array.from({ length: jobs }, (_, job) =>
    startWorker(
      files.filter((_, i) => i % jobs === job),
      isUpdate,
      context,
    ),
  );
  const kill = (signal: NodeJS.Signals) => {
    for (const { child } of workers) child.kill(signal);
  };
  const stop = () => kill(context.signal.reason ?? "SIGINT");
  context.signal.addEventListener("abort", stop, { once: true });
  context.shutdown.onForcedExit(() => kill("SIGKILL"));
  try {
    for (const [i, file] of files.entries()) {
      const { lines, getNotes } = workers[i % jobs]!;
      const { done, value } = await lines.next();
      context.signal.throwIfAborted();
      if (done) {
        const message = `The process that runs ${file} has ended: ${getFirstLine(getNotes())}`;
        throw new CommandFailedError("failed", "run_ended", message);
      }
      yield JSON.parse(value) as ScenarioResult;
    }
  } finally {
    context.signal.removeEventListener("abort", stop);
    for (const { child } of workers) if (child.exitCode === null) child.kill();
  }
}

function startWorker(files: readonly string[], isUpdate: boolean, { host, globals }: Context) {
  const [program, ...first] = host.program;
  const flags = ["--format", "ndjson", "--jobs", "1", "--no-annotations", ...(isUpdate ? ["--update"] : [])];
  const paths = files.map((file) => (file.startsWith("-") ? `./${file}` : file));
  const child = spawn(program, [...first, "run", ...paths, ...flags, ...(globals.quiet ? ["--quiet"] : [])], {
    cwd: host.cwd,
    env: { ...host.env } as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let notes = "";
  const addNote = (text: string) => {
    notes += text;
  };
  child.stderr!.setEncoding("utf8").on("data", addNote);
  child.on("error", (error) => addNote(error.message));
  return { child, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator](), getNotes: () => notes };
}

const getFirstLine = (text: string): string =>
  text
    .trim()
    .split("\n")[0]!
    .replace(/^error: /, "") || "it printed nothing";
