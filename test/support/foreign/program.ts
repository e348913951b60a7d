import { execFile } from "node:child_process";

interface Where {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program and returns its output. Throws an error with the output if the program fails. */
export const runProgram = (program: string, argv: readonly string[], { cwd, env }: Where): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 28 };
    execFile(program, argv, options, (error, stdout, stderr) => {
      if (error)
        reject(new Error(`${program} ${argv.join(" ")}: ${error.message}\n${stderr}\n${stdout}`.slice(0, 20_000)));
      else resolve(stdout);
    });
  });

/** Runs a program and parses the JSON document in its last line. */
export async function runForJson(program: string, argv: readonly string[], options: Where): Promise<unknown> {
  const output = await runProgram(program, argv, options);
  return JSON.parse(output.trim().split("\n").at(-1) ?? "");
}

export const canRun = (program: string, ...argv: readonly string[]): Promise<boolean> =>
  runProgram(program, argv, { cwd: "." }).then(
    () => true,
    () => false,
  );
