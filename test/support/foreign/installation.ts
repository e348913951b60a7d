import { createHash } from "node:crypto";
import { access, mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { canRun, runProgram } from "./program.ts";

/** A folder with third-party programs, or the reason why they are missing. */
export type Installation = { readonly folder: string; readonly missing?: never } | { readonly missing: string };

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "svc-toolkit");

/** Programs to install and the commands that install them, each an argument list that runs in the folder. */
export interface InstallOptions {
  /** Name with pinned versions, which is the name of the folder. Another version is installed from scratch. */
  readonly name: string;
  /** A required program on this machine, with arguments under which it succeeds. */
  readonly needs: readonly [program: string, ...argv: string[]];
  readonly steps: readonly (readonly [program: string, ...argv: string[]])[];
}

/** Installs third-party programs once per machine, in a folder. */
export async function installPrograms({ name, needs, steps }: InstallOptions): Promise<Installation> {
  const folder = join(cache, name);
  const mark = join(folder, ".installed");
  const [needed, ...argv] = needs;
  if (!(await canRun(needed, ...argv))) return { missing: `${name} needs ${needs.join(" ")} to work here.` };
  if (await canAccess(mark)) return { folder };
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [program, ...args] of steps) await runProgram(program, args, { cwd: folder });
    await writeFile(mark, "");
    return { folder };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return { missing: `${name} could not be installed: ${String(error).split("\n").slice(0, 2).join(" ")}` };
  }
}

const canAccess = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Folder names have at most 255 bytes. */
const maxName = 120;

/**
 * Joins all names and versions, so that any other version is installed separately, such as `jest-30.0.5-mocha-11.7.1`.
 */
function formatInstallationName(packages: readonly string[]): string {
  const name = packages
    .join("-")
    .replaceAll(/[^\w.]+/g, "-")
    .replace(/^-/, "");
  if (name.length <= maxName) return name;
  const digest = createHash("sha256").update(name).digest("hex");
  return `${name.slice(0, maxName)}-${digest.slice(0, 12)}`;
}

/**
 * Installs npm packages, each as `name@version`, in a separate folder, so that the project's packages do not change.
 */
export const installNpmPackages = (...packages: readonly string[]): Promise<Installation> =>
  installPrograms({
    name: formatInstallationName(packages),
    needs: ["npm", "--version"],
    steps: [
      ["npm", "init", "--yes"],
      ["npm", "install", "--no-audit", "--no-fund", ...packages],
    ],
  });

/** The distribution's Python comes first, because its optimized build makes fuzzing a tenth faster. */
const pythons = ["/usr/bin/python3", "python3", "python3.13", "python3.12", "python3.11", "python3.10"];
const isNewEnough = ["-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"] as const;

/** Installs Python packages, each as `name==version`, in a virtual environment. */
export async function installPythonPackages(...packages: readonly string[]): Promise<Installation> {
  const name = formatInstallationName(packages);
  for (const python of pythons) {
    if (!(await canRun(python, ...isNewEnough))) continue;
    const environment = [python, "-m", "venv", "."] as const;
    const packed = ["./bin/pip", "install", "--quiet", ...packages] as const;
    return installPrograms({ name, needs: [python, "--version"], steps: [environment, packed] });
  }
  return { missing: `${name} needs a Python from 3.10 on with venv.` };
}

/** Installs a program of a Go module as `bin/<program>`. */
export const installGoProgram = (name: string, module: string): Promise<Installation> =>
  installPrograms({ name, needs: ["go", "version"], steps: [["sh", "-c", `GOBIN="$PWD/bin" go install ${module}`]] });
