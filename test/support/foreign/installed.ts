import { createHash } from "node:crypto";
import { access, mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { run, works } from "./program.ts";

/** A folder with programs of others, or the sentence that says why they cannot be had. */
export type Installed = { readonly folder: string; readonly missing?: never } | { readonly missing: string };

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "svc-toolkit");

/** What is installed, and by which commands: each a program with its arguments, run in the folder. */
export interface Wanted {
  /** Name and pinned versions: the folder's name, so that another version is installed anew. */
  readonly name: string;
  /** A program that must be on the machine, with arguments under which it succeeds. */
  readonly needs: readonly [program: string, ...argv: string[]];
  readonly steps: readonly (readonly [program: string, ...argv: string[]])[];
}

/** Installs programs of others once into a folder of this machine. */
export async function installed({ name, needs, steps }: Wanted): Promise<Installed> {
  const folder = join(cache, name);
  const mark = join(folder, ".installed");
  const [needed, ...argv] = needs;
  if (!(await works(needed, ...argv))) return { missing: `${name} needs ${needs.join(" ")} to work here.` };
  if (await exists(mark)) return { folder };
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [program, ...args] of steps) await run(program, args, { cwd: folder });
    await writeFile(mark, "");
    return { folder };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return { missing: `${name} could not be installed: ${String(error).split("\n").slice(0, 2).join(" ")}` };
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Names of folders have at most 255 bytes. */
const maxName = 120;

/** Of all of them and their versions, so that any other is installed again: `jest-30.0.5-mocha-11.7.1` */
function nameOf(pinned: readonly string[]): string {
  const name = pinned
    .join("-")
    .replaceAll(/[^\w.]+/g, "-")
    .replace(/^-/, "");
  if (name.length <= maxName) return name;
  const digest = createHash("sha256").update(name).digest("hex");
  return `${name.slice(0, maxName)}-${digest.slice(0, 12)}`;
}

/** Packages of the npm registry, each as `name@version`, in a folder of their own: the project's must not change for them. */
export const npmPackages = (...packages: readonly string[]): Promise<Installed> =>
  installed({
    name: nameOf(packages),
    needs: ["npm", "--version"],
    steps: [
      ["npm", "init", "--yes"],
      ["npm", "install", "--no-audit", "--no-fund", ...packages],
    ],
  });

/** The one of the distribution first: it is built with optimisations that others often lack, and fuzzes a tenth faster. */
const pythons = ["/usr/bin/python3", "python3", "python3.13", "python3.12", "python3.11", "python3.10"];
const isNewEnough = ["-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"] as const;

/** Packages of the Python index, each as `name==version`, in an environment of their own. */
export async function pythonPackages(...packages: readonly string[]): Promise<Installed> {
  const name = nameOf(packages);
  for (const python of pythons) {
    if (!(await works(python, ...isNewEnough))) continue;
    const environment = [python, "-m", "venv", "."] as const;
    const packed = ["./bin/pip", "install", "--quiet", ...packages] as const;
    return installed({ name, needs: [python, "--version"], steps: [environment, packed] });
  }
  return { missing: `${name} needs a Python from 3.10 on with venv.` };
}

/** A program of a Go module, as `bin/<program>`. */
export const goProgram = (name: string, module: string): Promise<Installed> =>
  installed({
    name,
    needs: ["go", "version"],
    steps: [["sh", "-c", `GOBIN="$PWD/bin" go install ${module}`]],
  });
