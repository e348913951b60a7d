import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, posix, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { root } from "../structure/repository.ts";
import { extractShellCommands, handWrittenPages, readPage } from "../support/cli/pages.ts";
import { packedFiles as files, tarballPath } from "../support/tarball.ts";

const run = promisify(execFile);

describe("packed tarball in an empty folder", () => {
  let folder: string;
  let manifestWarning: string;
  let ways: ReturnType<typeof extractInstallCommands>;
  const svc = (...argv: string[]) => run(join(folder, "node_modules/.bin/svc"), argv, { cwd: folder });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-packaged-"));
    ways = extractInstallCommands();
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "elsewhere", private: true, type: "module" }));
    manifestWarning = (await runAsTyped(ways.dev, folder)).stderr;
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("contains only the files that are required to run", () => {
    const topLevelNames = new Set(files.map((path) => path.split("/")[0]));
    assert.deepEqual([...topLevelNames].sort(), [
      "LICENSE",
      "README.md",
      "bin",
      "dist",
      "docs",
      "fixtures",
      "package.json",
    ]);
    const deploy = ["Dockerfile", "compose.yaml", "kubernetes.yaml"].map((name) => `fixtures/deploy/${name}`);
    const receivers = readdirSync(join(root, "docs/receivers")).map((name) => `docs/receivers/${name}`);
    const languages = readdirSync(join(root, "fixtures/languages"), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && !/__pycache__|java\/target/.test(one.parentPath))
      .map((one) => relative(root, join(one.parentPath, one.name)));
    assert.deepEqual(
      files.filter((path) => /^(docs|fixtures)\//.test(path)).sort(),
      [
        ...handWrittenPages.filter((path) => path !== "README.md"),
        "fixtures/console.png",
        "fixtures/ci/verify.yml",
        ...deploy,
        ...receivers,
        ...languages,
      ].sort(),
      "the pages for users, and what they show and link to",
    );
    const console = files
      .filter((path) => path.startsWith("dist/console/"))
      .map((path) => path.replace(/-\w+\./, "-HASH."));
    assert.deepEqual(console.map((path) => path.slice("dist/console/".length)).sort(), [
      "console-HASH.css.br",
      "icon-HASH.svg.br",
      "main-HASH.js.br",
      "manifest.json",
    ]);
  });

  it("declares no install scripts, which cause a warning in npm", async () => {
    const { scripts } = JSON.parse(await readFile(join(folder, "node_modules/svc-toolkit/package.json"), "utf8"));
    const installing = ["preinstall", "install", "postinstall", "prepare"];
    assert.deepEqual(
      installing.filter((name) => name in scripts),
      [],
    );
    assert.doesNotMatch(manifestWarning, /install-scripts/);
  });

  it("contains every linked page, except those that the README leaves in the repository", async () => {
    const readme = readPage("README.md");
    const [, pages = ""] = /^(.*) are only in the repository/m.exec(readme) ?? [];
    const shipped = new Set([...files, ...(pages.match(/[\w/]+\.md/g) ?? [])]);
    const broken: string[] = [];
    for (const page of files.filter((path) => path.endsWith(".md"))) {
      const text = await readFile(join(folder, "node_modules/svc-toolkit", page), "utf8");
      for (const [, link] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
        if (!shipped.has(posix.join(posix.dirname(page), link!))) broken.push(`${page}: ${link}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it("has no dependencies", async () => {
    const { stdout } = await run("npm", ["ls", "--all", "--json"], { cwd: folder });
    const { dependencies } = JSON.parse(stdout);
    assert.deepEqual(Object.keys(dependencies), ["svc-toolkit"]);
    assert.equal(dependencies["svc-toolkit"].dependencies, undefined);
  });

  it("reports its version", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    assert.equal((await svc("--version")).stdout, `${version}\n`);
  });

  it("runs with every installation method", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const versions = await runAsTyped("npx svc --version && npx svc-toolkit --version", folder);
    assert.equal(versions.stdout, `${version}\n${version}\n`);
    // The folder has no access to parent packages.
    const empty = await mkdtemp(join(folder, "empty-"));
    await writeFile(join(empty, "package.json"), JSON.stringify({ name: "empty", private: true }));
    const everywhere = await runAsTyped(`${ways.global} > log 2>&1 && global/bin/svc --version`, empty);
    assert.equal(everywhere.stdout, `${version}\n`);
    assert.match(await readFile(join(empty, "global/share/man/man1/svc.1"), "utf8"), /^\.TH SVC 1 /);
    assert.match((await runAsTyped("npx svc-toolkit tour", empty)).stdout, /svc contracts status/);
  });

  it("runs the tour and each command that the tour prints", async () => {
    const { stdout } = await svc("tour");
    const workflowCommands = [
      "files upload",
      "intake create",
      "contracts create",
      "contracts send",
      "contracts status",
    ];
    assert.deepEqual(
      workflowCommands.filter((command) => !stdout.includes(`svc ${command}`)),
      [],
      stdout,
    );
  });

  it("prints the tour as JSON", async () => {
    const document: unknown = JSON.parse((await svc("tour", "--json")).stdout);
    assert.equal(typeof document, "object");
  });

  it("starts an emulator from a program", async () => {
    const program = [
      'import { startEmulator } from "svc-toolkit/emulator";',
      "await using emulator = await startEmulator({});",
      'const answer = await fetch(emulator.routerUrl + "/");',
      "console.log(await answer.text());",
    ].join("\n");
    // Node 20 has no `await using`, so the program is changed as compilation would change it.
    const plain = program.replace("await using", "const").concat("\nawait emulator.close();\n");
    await writeFile(join(folder, "program.js"), plain);
    assert.equal((await run(process.execPath, ["program.js"], { cwd: folder })).stdout, '{"database":true}\n');
  });
});

/** The installation commands of the README. */
function extractInstallCommands() {
  const [dev, global, ...extraArgs] = extractShellCommands("README.md").filter((line) =>
    line.startsWith("npm install "),
  );
  assert.deepEqual(extraArgs, []);
  return { dev: dev!, global: global! };
}

/** Runs a line in the folder. The tarball is in another folder, and replaces the package in the registry. */
function runAsTyped(line: string, cwd: string) {
  const { PATH, HOME } = process.env;
  const settings = {
    npm_config_offline: "true",
    npm_config_yes: "true",
    npm_config_prefix: join(cwd, "global"),
    // An empty cache, as on a new machine. The user's cache is not changed.
    npm_config_cache: join(cwd, "npm-cache"),
  };
  const real = line
    .replace(`./${basename(tarballPath)}`, tarballPath)
    .replace(/^npx svc-toolkit /, `npx "file:${tarballPath}" `);
  return run("bash", ["-c", real], { cwd, env: { PATH, HOME, CI: "true", ...settings } });
}
