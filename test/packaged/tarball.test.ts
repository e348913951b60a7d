import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { root } from "../structure/repository.ts";
import { packedFiles as files, tarball } from "../support/tarball.ts";

const run = promisify(execFile);

describe("the packed tarball, installed into an empty folder", () => {
  let folder: string;
  let told: string;
  /** Empty, as on a machine that has never seen the package; and nothing of it stays in that of whoever runs this. */
  const ownCache = () => ({ npm_config_cache: join(folder, "npm-cache") });
  const svc = (...argv: string[]) => run(join(folder, "node_modules/.bin/svc"), argv, { cwd: folder });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-packaged-"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "elsewhere", private: true, type: "module" }));
    const options = { cwd: folder, env: { ...process.env, ...ownCache() } };
    const installed = await run("npm", ["install", "--no-audit", "--no-fund", "--offline", tarball], options);
    told = installed.stderr;
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("holds what is needed to run, and nothing else", () => {
    const places = new Set(files.map((path) => path.split("/")[0]));
    const pages = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"];
    const folders = ["bin", "dist", "emulator", "fixtures", "test"];
    assert.deepEqual([...places].sort(), [...pages, ...folders, "package.json"].sort());
    const elsewhere = files.filter((path) => /^(emulator|fixtures|test)\//.test(path) && !path.endsWith(".md"));
    const deploy = ["Dockerfile", "compose.yaml", "kubernetes.yaml"].map((name) => `fixtures/deploy/${name}`);
    assert.deepEqual(elsewhere.sort(), ["fixtures/console.png", ...deploy], "what the README shows and links to");
    const console = files
      .filter((path) => path.startsWith("dist/console/"))
      .map((path) => path.replace(/-\w+\./, "-HASH."));
    assert.deepEqual(console.map((path) => path.slice("dist/console/".length)).sort(), [
      ...["console-HASH.css", "icon-HASH.svg", "main-HASH.js"].flatMap((name) => [name, `${name}.br`]),
      "manifest.json",
    ]);
  });

  it("has nothing to run when it is installed, which npm would warn of", async () => {
    const { scripts } = JSON.parse(await readFile(join(folder, "node_modules/svc-toolkit/package.json"), "utf8"));
    const installing = ["preinstall", "install", "postinstall", "prepare"];
    assert.deepEqual(
      installing.filter((name) => name in scripts),
      [],
    );
    assert.doesNotMatch(told, /install-scripts/);
  });

  it("holds every page that its pages link to", async () => {
    const shipped = new Set(files);
    const broken: string[] = [];
    for (const page of files.filter((path) => path.endsWith(".md"))) {
      const text = await readFile(join(folder, "node_modules/svc-toolkit", page), "utf8");
      for (const [, link] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
        if (!shipped.has(posix.join(posix.dirname(page), link!))) broken.push(`${page}: ${link}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it("brings no other package along", async () => {
    const { stdout } = await run("npm", ["ls", "--all", "--json"], { cwd: folder });
    const { dependencies } = JSON.parse(stdout);
    assert.deepEqual(Object.keys(dependencies), ["svc-toolkit"]);
    assert.equal(dependencies["svc-toolkit"].dependencies, undefined);
  });

  it("says its version", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    assert.equal((await svc("--version")).stdout, `${version}\n`);
  });

  it("is run in every way in which the README has it installed", async () => {
    const readme = await readFile(join(root, "README.md"), "utf8");
    const [, block] = /```sh\n(npm install [\s\S]*?)```/.exec(readme)!;
    const ways = block!
      .trim()
      .split("\n")
      .map((line) => line.replace(/\s+#.*$/, ""));
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, CI: "true", npm_config_offline: "true", npm_config_yes: "true", ...ownCache() };
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const shown = async (way: string, ...programs: readonly string[]) => {
      const empty = await mkdtemp(join(folder, "empty-"));
      // Not published here: the tarball stands where the registry's package would. Nothing above is seen.
      await writeFile(join(empty, "package.json"), JSON.stringify({ name: "empty", private: true }));
      const installing = `${way.replace("svc-toolkit", `"file:${tarball}"`)} > log 2>&1`;
      const line = [installing, ...programs.map((program) => `${program} --version`)].join(" && ");
      const options = { cwd: empty, env: { ...env, npm_config_prefix: join(empty, "global") } };
      return (await run("bash", ["-c", line], options)).stdout;
    };
    const [dev, global, checkout, once] = ways as [string, string, string, string];
    assert.equal(await shown(dev, "npx svc", "npx svc-toolkit"), `${version}\n${version}\n`);
    assert.equal(await shown(global, "global/bin/svc"), `${version}\n`);
    assert.equal(await shown(once, `npx "file:${tarball}"`), `${version}\n`);
    // A link is made of this very checkout, by its name: what it leads to is run above.
    assert.equal(checkout, "npm ci && npm link");
  });

  it("walks the whole tour, by the commands that it shows", async () => {
    const { stdout } = await svc("tour");
    const shown = ["files upload", "intake create", "contracts create", "contracts send", "contracts status"];
    assert.deepEqual(
      shown.filter((command) => !stdout.includes(`svc ${command}`)),
      [],
      stdout,
    );
  });

  it("gives the same as one document", async () => {
    const document: unknown = JSON.parse((await svc("tour", "--json")).stdout);
    assert.equal(typeof document, "object");
  });

  it("starts an emulator for a program", async () => {
    const program = [
      'import { startEmulator } from "svc-toolkit/emulator";',
      "await using emulator = await startEmulator({});",
      'const answer = await fetch(emulator.routerUrl + "/");',
      "console.log(await answer.text());",
    ].join("\n");
    // Node 20 has no `await using`; the package is used as such a program is after compilation.
    const plain = program.replace("await using", "const").concat("\nawait emulator.close();\n");
    await writeFile(join(folder, "program.js"), plain);
    assert.equal((await run(process.execPath, ["program.js"], { cwd: folder })).stdout, '{"database":true}\n');
  });
});
