import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Installed, npmPackages, pythonPackages } from "../../support/foreign/installed.ts";
import { run, works } from "../../support/foreign/program.ts";

/** A receiver that a command starts, or the sentence that says why it cannot be had. */
export type BuiltReceiver = { readonly command: string; readonly missing?: never } | { readonly missing: string };

/** The command of a receiver that can be had. */
export function commandOf(receiver: BuiltReceiver): string {
  if (receiver.missing !== undefined) throw new Error(receiver.missing);
  return receiver.command;
}

const fixtures = fileURLToPath(new URL("../../../fixtures/receivers/", import.meta.url));
const root = await mkdtemp(join(tmpdir(), "svc-receivers-"));
process.on("exit", () => void rm(root, { recursive: true, force: true }));

const nodePackages = await npmPackages("express@5.3.0", "fastify@5.12.8");
const python = await pythonPackages("flask==3.1.3", "fastapi==0.165.0", "uvicorn==0.54.0");

/** The receivers of fixtures/receivers, built once for all tests of a run. */
export const receivers = {
  express: await nodeReceiver("express.mjs"),
  fastify: await nodeReceiver("fastify.mjs"),
  flask: pythonReceiver(python, "flask_receiver.py"),
  fastapi: pythonReceiver(python, "fastapi_receiver.py"),
  go: await goReceiver(join(fixtures, "go")),
  java: await javaReceiver(join(fixtures, "java"), "Receiver"),
} as const;

/** A copy beside the packages: Node looks for them from the file. */
async function nodeReceiver(file: string): Promise<BuiltReceiver> {
  if (nodePackages.missing !== undefined) return nodePackages;
  const folder = join(root, "node");
  const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
  if (isNew) await symlink(join(nodePackages.folder, "node_modules"), join(folder, "node_modules"));
  for (const name of await readdir(join(fixtures, "node"))) {
    await copyFile(join(fixtures, "node", name), join(folder, name));
  }
  return { command: `exec '${process.execPath}' '${join(folder, file)}'` };
}

function pythonReceiver(installed: Installed, file: string): BuiltReceiver {
  if (installed.missing !== undefined) return installed;
  return { command: `exec '${join(installed.folder, "bin/python")}' -B '${join(fixtures, "python", file)}'` };
}

/** A Go program of this folder; undefined files: all of it. */
export async function goReceiver(folder: string, ...files: readonly string[]): Promise<BuiltReceiver> {
  if (!(await works("go", "version"))) return { missing: "Go is not installed." };
  const program = join(await mkdtemp(join(root, "go-")), "receiver");
  await run("go", ["build", "-o", program, ...(files.length > 0 ? files : ["."])], { cwd: folder });
  return { command: `exec '${program}'` };
}

export async function javaReceiver(folder: string, name: string): Promise<BuiltReceiver> {
  if (!(await works("javac", "-version"))) return { missing: "A JDK is not installed." };
  const classes = await mkdtemp(join(root, "java-"));
  await run("javac", ["-d", classes, join(folder, `${name}.java`)], { cwd: folder });
  return { command: `exec java -Xshare:auto -XX:TieredStopAtLevel=1 -cp '${classes}' ${name}` };
}
