import { rmSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
// On Windows an editor such as code is a batch file, which Node's own spawn does not start.
import spawn from "cross-spawn";
import type { Context } from "../command.ts";
import { signalCodes } from "../process/exit.ts";
import { CommandFailedError, InterruptedError } from "../process/failure.ts";
import { askYesNo } from "./ask.ts";

/** Returns the saved content. An empty file cancels; invalid content can be edited again. Prompts must be allowed. */
export async function editText(
  text: string,
  fileName: string,
  context: Context,
  findProblem: (text: string) => string | undefined,
): Promise<string> {
  // The folder is private, because a payload contains personal data.
  const folder = await mkdtemp(join(tmpdir(), "svc-edit-"));
  context.shutdown.onForcedExit(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const file = join(folder, fileName);
    await writeFile(file, `${text}\n`, { mode: 0o600 });
    for (;;) {
      await runEditor(file, context);
      const content = await readFile(file, "utf8");
      if (content.trim() === "") throw createDeclinedError();
      const problem = findProblem(content);
      if (problem === undefined) return content;
      if (!(await askYesNo(`${problem} Edit again?`, context))) throw createDeclinedError();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const createDeclinedError = (): CommandFailedError => new CommandFailedError("failed", "declined", "Nothing was sent.");

/** Ctrl-C goes to the editor (DECISIONS.md, L23). If it ends the editor, svc ends too. SIGTERM ends both. */
async function runEditor(file: string, context: Context): Promise<void> {
  const { host, signal, shutdown } = context;
  const { env, cwd, inherits } = host;
  signal.throwIfAborted();
  const command = env.VISUAL || env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");
  // The value can be a program with arguments, as in git: "code --wait".
  const [program = "vi", ...args] = command.split(/\s+/).filter(Boolean);
  // Editors and their plug-ins do not need secrets (DECISIONS.md, L9).
  const otherVariables = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SVC_")));
  const child = spawn(program, [...args, file], { cwd, stdio: inherits ? "inherit" : "ignore", env: otherVariables });
  const unlink = shutdown.linkChild(child);
  const result = await shutdown.lendTerminal(
    () =>
      new Promise<number | NodeJS.Signals | Error | null>((resolve) => {
        child.once("error", resolve);
        child.once("close", (code, name) => resolve(code ?? name));
      }),
  );
  unlink();
  signal.throwIfAborted();
  if (result === 0) return;
  if (result === "SIGINT" || result === signalCodes.SIGINT) throw new InterruptedError();
  const reason = result instanceof Error ? "cannot be started" : `exited with ${result}`;
  throw new CommandFailedError("failed", "editor_failed", `The editor ${program} ${reason}. Nothing was sent.`, {
    hint: "Set EDITOR to another program.",
    cause: result,
  });
}
