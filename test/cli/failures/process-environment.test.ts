import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getSvcPath } from "../../support/shipped.ts";

type Env = Readonly<Record<string, string>>;

interface Surroundings {
  readonly cwd: string;
  readonly env?: Env;
  /** A program with its first arguments that executes node. */
  readonly within?: readonly string[];
  readonly node?: readonly string[];
}

/** Runs the shipped program as a process with exactly this environment. */
async function runSvc(line: string, { cwd, env = {}, within = [], node = [] }: Surroundings) {
  const [program, ...words] = [...within, process.execPath, ...node, getSvcPath(), ...line.split(" ")];
  const child = spawn(program!, words, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH!, ...env },
  });
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exit] = (await closed) as [number | null];
  return { exit, stdout, stderr };
}

/** Creates a folder, enters and removes it, and then executes the program. */
const inRemovedFolder = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh"];

const isRoot = process.getuid?.() === 0;
const unlessOther = { skip: isRoot ? false : "only root may run a program as another user" };
/** A user ID that no user database contains. */
const unknownUser = ["setpriv", "--reuid=54321", "--clear-groups"];

describe("svc in a removed working folder", () => {
  it("prints help, sends requests and reports an error if it needs the folder", async (t) => {
    const cwd = await createTestFolder(t);
    const removedFolder = { cwd, within: inRemovedFolder, env: { SVC_CONFIG_DIR: cwd } };
    const help = await runSvc("router health --help", removedFolder);
    assert.deepEqual(
      [help.exit, help.stdout.split("\n")[0], help.stderr],
      [0, "Usage: svc router health [options]", ""],
    );

    const { routerUrl } = await startTestEmulator(t);
    const health = await runSvc(`router health --base-url ${routerUrl} --json`, removedFolder);
    assert.deepEqual([health.exit, health.stderr], [0, ""]);

    assert.deepEqual(await runSvc("webhooks verify body.json --signature x", removedFolder), {
      exit: 1,
      stdout: "",
      stderr: [
        "error: The working folder no longer exists.",
        "  Change to a folder that exists, for example with cd ~, and run the command again.",
        "",
      ].join("\n"),
    });
  });
});

describe("svc without a home folder", () => {
  it("uses the user database instead of the working folder for an empty HOME", async (t) => {
    const cwd = await createTestFolder(t);
    const { stdout } = await runSvc("doctor --json", { cwd, env: { HOME: "" } });
    const files = JSON.parse(stdout).find(({ check }: { check: string }) => check === "files");
    assert.match(files.detail, new RegExp(`(^| )${join(userInfo().homedir, ".config/svc")}\\b`));
    assert.deepEqual(await readdir(cwd), []);
  });

  it("sends requests for an unknown user and reports why it stores no data", unlessOther, async (t) => {
    const cwd = await createTestFolder(t);
    const unknownUserOptions = { cwd, within: unknownUser };
    const { routerUrl } = await startTestEmulator(t);
    const health = await runSvc("router health --json", { ...unknownUserOptions, env: { SVC_ROUTER_URL: routerUrl } });
    assert.deepEqual([health.exit, health.stderr], [0, ""]);
    assert.deepEqual(await runSvc("config list", unknownUserOptions), { exit: 0, stdout: "", stderr: "No settings\n" });
    assert.deepEqual(await runSvc("config set client_id x", unknownUserOptions), {
      exit: 1,
      stdout: "",
      stderr: [
        "error: The home folder is unknown: HOME is not set, and user 54321 has no entry in the user database.",
        "  Set HOME, or set SVC_CONFIG_DIR to the folder for profiles, tokens and jobs.",
        "",
      ].join("\n"),
    });
  });
});

describe("svc process", () => {
  it("prints an exception from outside of a command and fails", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "throws.cjs"), 'setImmediate(() => { throw new Error("outside"); });');
    const { exit, stderr } = await runSvc("config list", { cwd, node: ["--require", join(cwd, "throws.cjs")] });
    assert.notEqual(exit, 0);
    assert.match(stderr, /^Error: outside$/m);
  });

  it("fails when its work can no longer complete", async (t) => {
    const cwd = await createTestFolder(t);
    const silent = 'const { Readable } = require("node:stream"); const stdin = new Readable({ read() {} });';
    await writeFile(join(cwd, "silent.cjs"), `${silent} Object.defineProperty(process, "stdin", { value: stdin });`);
    const result = await runSvc("config set client_secret --secret-file -", {
      cwd,
      node: ["--require", join(cwd, "silent.cjs")],
    });
    assert.deepEqual(result, {
      exit: 1,
      stdout: "",
      stderr: "error: svc ended before its work was done. This is a bug: run it again with --debug and report it.\n",
    });
  });
});
