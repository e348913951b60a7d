import { execFile } from "node:child_process";
import { access, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Pinned: another version generates other requests, and may check more. */
const version = "4.32.5";
const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
const folder = join(cache, "svc-toolkit", `schemathesis-${version}`);
const program = join(folder, "bin", "schemathesis");

/** The program, installed once into a folder of this machine; or the sentence that says why it cannot be had. */
export async function schemathesis(): Promise<{ readonly program: string } | { readonly missing: string }> {
  if (await works(program, "--version")) return { program };
  const python = await firstThatWorks(["python3", "python3.13", "python3.12", "python3.11", "python3.10"]);
  if (python === undefined) return { missing: "There is no Python from 3.10 on with venv, which schemathesis needs." };
  try {
    await rm(folder, { recursive: true, force: true });
    await run(python, ["-m", "venv", folder]);
    await run(join(folder, "bin", "pip"), ["install", "--quiet", `schemathesis==${version}`]);
    await access(program);
    return { program };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return { missing: `schemathesis ${version} could not be installed: ${String(error).split("\n")[0]}` };
  }
}

const firstThatWorks = async (pythons: readonly string[]): Promise<string | undefined> => {
  for (const python of pythons) {
    if (await works(python, "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))")) return python;
  }
  return undefined;
};

const works = (file: string, ...argv: readonly string[]): Promise<boolean> =>
  run(file, argv).then(
    () => true,
    () => false,
  );
