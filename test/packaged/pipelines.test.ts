import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { root } from "../structure/repository.ts";
import { extractCodeBlocks } from "../support/cli/pages.ts";
import { tarballPath } from "../support/tarball.ts";

const run = promisify(execFile);

interface Action {
  readonly inputs: Readonly<Record<string, { readonly required: boolean; readonly default?: string }>>;
  readonly runs: {
    readonly using: string;
    readonly steps: readonly { readonly shell: string; readonly run: string; readonly env?: Record<string, string> }[];
  };
}

const action = parse(await readFile(join(root, "action.yml"), "utf8")) as Action;
const recipes = extractCodeBlocks("docs/ci.md", "yaml").map((text) => parse(text));

/** Replaces `${{ inputs.name }}` like a runner. */
const fillInputs = (text: string, inputs: Readonly<Record<string, string>>): string =>
  text.replace(
    /\$\{\{ inputs\.([\w-]+) \}\}/g,
    (_, name: string) => inputs[name] ?? action.inputs[name]!.default ?? "",
  );

/** Prints the mode of the emulator's clock. */
const mode = `node -e 'fetch(process.env.SVC_EMULATOR_URL + "/clock", {headers: {authorization: "Bearer " + process.env.SVC_EMULATOR_TOKEN}}).then((r) => r.json()).then((c) => console.log(c.mode))'`;

describe("packed tarball in a pipeline", () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-pipelines-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  describe("composite action", () => {
    /** Runs the steps like a runner. A stub replaces npm, because the tarball contains the program. */
    async function used(inputs: Readonly<Record<string, string>>) {
      const actionFolder = await mkdtemp(join(folder, "action-"));
      await run("tar", ["-xzf", tarballPath, "-C", actionFolder, "--strip-components", "1"]);
      await mkdir(join(actionFolder, "stand-in"));
      await writeFile(join(actionFolder, "stand-in/npm"), `#!/bin/sh\necho "npm $*"\n`, { mode: 0o755 });
      const files = Object.fromEntries(
        ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY"].map((name) => [name, join(actionFolder, name)]),
      );
      for (const file of Object.values(files)) await writeFile(file, "");
      const result = { code: 0, stdout: "", stderr: "" };
      for (const [index, step] of action.runs.steps.entries()) {
        assert.equal(step.shell, "bash");
        const script = join(actionFolder, `step-${index}.sh`);
        await writeFile(script, fillInputs(step.run, inputs));
        const env = {
          ...files,
          PATH: [join(actionFolder, "stand-in"), process.env.PATH].join(delimiter),
          CI: "true",
          GITHUB_ACTIONS: "true",
          GITHUB_ACTION_PATH: actionFolder,
          ...Object.fromEntries(
            Object.entries(step.env ?? {}).map(([name, value]) => [name, fillInputs(value, inputs)] as const),
          ),
        };
        const bash = ["--noprofile", "--norc", "-eo", "pipefail", script];
        const { code, stdout, stderr } = await run("bash", bash, { cwd: actionFolder, env }).then(
          (done) => ({ code: 0, ...done }),
          (failed: { code: number; stdout: string; stderr: string }) => failed,
        );
        result.code = code;
        result.stdout += stdout.replaceAll(actionFolder, "ACTION");
        result.stderr += stderr;
        if (code !== 0) break;
      }
      return { ...result, summary: await readFile(files.GITHUB_STEP_SUMMARY!, "utf8") };
    }
    // With NODE_ENV=production, npm would leave out what builds the program.
    const installed = "npm ci --prefix ACTION --include=dev --no-audit --no-fund\n";

    it("declares exactly the inputs that it uses outside its scripts", () => {
      const text = JSON.stringify(action.runs);
      const used = [...text.matchAll(/\$\{\{(.*?)\}\}/g)].map(([, expression]) => expression!.trim());
      assert.deepEqual(
        used.sort(),
        Object.keys(action.inputs)
          .map((name) => `inputs.${name}`)
          .sort(),
      );
      assert.deepEqual(
        action.runs.steps.filter((step) => step.run.includes("${{")),
        [],
      );
      assert.equal(action.runs.using, "composite");
    });

    it("runs its commands against an emulator, in log groups with a summary", async () => {
      const { code, stdout, stderr, summary } = await used({ run: mode, options: "--strict\n--clock manual\n" });
      assert.deepEqual([code, stdout], [0, `${installed}manual\n`], stderr);
      assert.match(stderr, /^::add-mask::[\s\S]*\n::group::bash -eo pipefail -c /);
      assert.match(summary, /^### svc emulator exec: exit 0\n/);
    });

    it("stops at the first failing command and interprets no command as an option", async () => {
      const failed = await used({ run: "echo one$UNSET\n(exit 9) | cat\necho two" });
      assert.deepEqual([failed.code, failed.stdout], [9, `${installed}one\n`]);
      const hostile = await used({ run: `echo '"; echo $(id) --help'`, options: "--clock $(id)" });
      assert.equal(hostile.code, 2);
      assert.match(hostile.stderr, /\$\(id\)/);
    });
  });

  describe("pipeline recipes in docs/ci.md", () => {
    const lines: [string, readonly string[]][] = recipes.flatMap((recipe) => {
      const [job] = Object.values((recipe as { jobs?: object }).jobs ?? recipe) as [
        { script?: string[]; steps?: { run?: string }[] },
      ];
      if (job.script) return [["GitLab", job.script]];
      return job.steps ? [["GitHub Actions", job.steps.flatMap((step) => step.run ?? [])]] : [];
    });

    it("covers GitHub Actions and GitLab", () => {
      assert.deepEqual(lines.map(([name]) => name).sort(), ["GitHub Actions", "GitLab"]);
    });

    for (const [name, script] of lines) {
      it(`runs unmodified in ${name}`, async () => {
        const project = await mkdtemp(join(folder, "project-"));
        const scripts = { test: mode };
        const devDependencies = { "svc-toolkit": `file:${tarballPath}` };
        await writeFile(join(project, "package.json"), JSON.stringify({ private: true, scripts, devDependencies }));
        const { PATH, HOME } = process.env;
        // An empty cache.
        const env = {
          PATH,
          HOME,
          CI: "true",
          npm_config_offline: "true",
          npm_config_cache: join(project, "npm-cache"),
        };
        await run("npm", ["install", "--package-lock-only", "--no-audit"], { cwd: project, env });
        const { stdout } = await run("bash", ["-eo", "pipefail", "-c", script.join("\n")], { cwd: project, env });
        assert.match(stdout, /^real$/m);
      });
    }
  });
});
