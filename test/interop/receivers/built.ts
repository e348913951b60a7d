import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Installation, installNpmPackages, installPythonPackages } from "../../support/foreign/installation.ts";
import { canRun, runProgram } from "../../support/foreign/program.ts";

/** The command that starts a receiver, or the reason why the receiver is missing. */
export type BuiltReceiver = { readonly command: string; readonly missing?: never } | { readonly missing: string };

/** Returns the command of a receiver. Throws if the receiver is missing. */
export function getReceiverCommand(receiver: BuiltReceiver): string {
  if (receiver.missing !== undefined) throw new Error(receiver.missing);
  return receiver.command;
}

const fixtures = fileURLToPath(new URL("../../../fixtures/receivers/", import.meta.url));
const root = await mkdtemp(join(tmpdir(), "svc-receivers-"));
process.on("exit", () => void rm(root, { recursive: true, force: true }));

const nodePackages = await installNpmPackages("express@5.3.0", "fastify@5.12.8");
const python = await installPythonPackages("flask==3.1.3", "fastapi==0.165.0", "uvicorn==0.54.0");

/** The receivers of fixtures/receivers, built once for all tests of a run. */
export const receivers = {
  express: await buildNodeReceiver("express.mjs"),
  fastify: await buildNodeReceiver("fastify.mjs"),
  fastapi: createPythonReceiver(python, "fastapi_receiver.py"),
  go: await buildGoReceiver(join(fixtures, "go")),
  java: await buildJavaReceiver(join(fixtures, "java"), "Receiver"),
} as const;

/** Copies a receiver next to the packages, because Node resolves packages from the location of the file. */
async function buildNodeReceiver(file: string): Promise<BuiltReceiver> {
  if (nodePackages.missing !== undefined) return nodePackages;
  const folder = join(root, "node");
  const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
  if (isNew) await symlink(join(nodePackages.folder, "node_modules"), join(folder, "node_modules"));
  for (const name of await readdir(join(fixtures, "node"))) {
    await copyFile(join(fixtures, "node", name), join(folder, name));
  }
  return { command: `exec '${process.execPath}' '${join(folder, file)}'` };
}

function createPythonReceiver(installation: Installation, file: string): BuiltReceiver {
  if (installation.missing !== undefined) return installation;
  return { command: `exec '${join(installation.folder, "bin/python")}' -B '${join(fixtures, "python", file)}'` };
}

/** Builds a Go program from all or the named files of a folder. */
export async function buildGoReceiver(folder: string, ...files: readonly string[]): Promise<BuiltReceiver> {
  if (!(await canRun("go", "version"))) return { missing: "Go is not installed." };
  const program = join(await mkdtemp(join(root, "go-")), "receiver");
  await runProgram("go", ["build", "-o", program, ...(files.length > 0 ? files : ["."])], { cwd: folder });
  return { command: `exec '${program}'` };
}

export async function buildJavaReceiver(folder: string, name: string): Promise<BuiltReceiver> {
  if (!(await canRun("javac", "-version"))) return { missing: "A JDK is not installed." };
  const classes = await mkdtemp(join(root, "java-"));
  await runProgram("javac", ["-d", classes, join(folder, `${name}.java`)], { cwd: folder });
  return { command: `exec java -Xshare:auto -XX:TieredStopAtLevel=1 -cp '${classes}' ${name}` };
}
