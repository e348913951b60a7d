import { execFile } from "node:child_process";

interface Where {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end and gives what it printed; fails with all of that where it does not succeed. */
export const run = (program: string, argv: readonly string[], { cwd, env }: Where): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 28 };
    execFile(program, argv, options, (error, out, err) => {
      if (error) reject(new Error(`${program} ${argv.join(" ")}: ${error.message}\n${err}\n${out}`.slice(0, 20_000)));
      else resolve(out);
    });
  });

/** The JSON document in the last line that a program prints. */
export async function told(program: string, argv: readonly string[], where: Where): Promise<unknown> {
  const printed = await run(program, argv, where);
  return JSON.parse(printed.trim().split("\n").at(-1) ?? "");
}

export const works = (program: string, ...argv: readonly string[]): Promise<boolean> =>
  run(program, argv, { cwd: "." }).then(
    () => true,
    () => false,
  );
