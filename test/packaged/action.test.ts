import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { bundle } from "../../build.ts";
import { root } from "../structure/repository.ts";

const run = promisify(execFile);

/** The script of the last step: what stands, more deeply indented, below its `run: |`. */
async function lastScript(): Promise<string> {
  const text = await readFile(join(root, "action.yml"), "utf8");
  const [, script] = /.*run: \|\n([\s\S]*)$/.exec(text) ?? [];
  return script!.replace(/^ {8}/gm, "");
}

describe("the composite action", () => {
  it("runs its commands against an emulator, stops at the first that fails, and takes nothing of them as options", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-action-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "bin"));
    await copyFile(join(root, "bin/svc.js"), join(folder, "bin/svc.js"));
    await copyFile(join(root, "package.json"), join(folder, "package.json"));
    await bundle(join(folder, "dist"));
    const step = async (commands: string, options = "") => {
      const env = {
        PATH: process.env.PATH,
        GITHUB_ACTION_PATH: folder,
        SVC_ACTION_RUN: commands,
        SVC_ACTION_OPTIONS: options,
      };
      return run("bash", ["-eo", "pipefail", "-c", await lastScript()], { cwd: folder, env }).then(
        ({ stdout }) => ({ code: 0, stdout }),
        ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
      );
    };
    const mode = `node -e 'fetch(process.env.SVC_EMULATOR_URL + "/clock", {headers: {authorization: "Bearer " + process.env.SVC_EMULATOR_TOKEN}}).then((r) => r.json()).then((c) => console.log(c.mode))'`;
    assert.deepEqual(await step(mode, "--clock manual --strict"), { code: 0, stdout: "manual\n" });
    assert.deepEqual(await step("echo one\n(exit 9)\necho two"), { code: 9, stdout: "one\n" });
  });
});
