import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { commandsFile } from "../../src/cli/built-commands.ts";
import { declarationsOf, groupNames } from "../../src/cli/command-tree.ts";
import { root } from "../structure/repository.ts";
import { cliEmulator, testFolder } from "../support/cli/cli-emulator.ts";
import { forwardProxy } from "../support/cli/forward-proxy.ts";
import { safeService } from "../support/cli/safe-service.ts";
import { receiver } from "../support/receiver.ts";
import { consoleMetafile, metafile, shipped, shippedSvc } from "../support/shipped.ts";

describe("the bundle", () => {
  const folder = shipped();
  const { outputs } = metafile();

  it("carries the licence of each package whose code it holds, and of no other", () => {
    const dist = join(folder, "dist");
    const code = readdirSync(dist).filter((name) => name.endsWith(".js"));
    // The bundler says above each module where it is from; of the command line, which ships without comments, beside it.
    const from = [
      ...code.flatMap((name) => [
        ...readFileSync(join(dist, name), "utf8").matchAll(/^\s*\/\/ (\S*node_modules\/\S+)$/gm),
      ]),
      ...Object.values({ ...outputs, ...consoleMetafile().outputs }).flatMap(({ inputs }) =>
        Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [["", path]] : [])),
      ),
      // The fonts of PDFs are files, not code.
      ["", "node_modules/dejavu-fonts-ttf/"],
    ].flatMap(([, path = ""]) => /^.*node_modules\/(?:@[^/\n]+\/)?[^/\n]+/.exec(path)?.[0] ?? []);
    const held = [...new Set(from)].map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      return `${name} ${version} (${license})`;
    });
    const [, ...sections] = readFileSync(join(dist, "THIRD-PARTY.txt"), "utf8").split(/^-{80}\n/m);
    assert.deepEqual(sections.map((section) => section.split("\n")[0]).sort(), held.sort());
    const short = sections.filter((section) => section.length < 500);
    assert.deepEqual(short, []);
    assert.ok(sections.length > 50, `${sections.length} packages`);
  });

  it("carries the commands that development composes, those that are written by hand too", async () => {
    const groups = await groupNames();
    const files = readdirSync(join(folder, "dist/commands")).map((name) => `commands/${name}`);
    assert.deepEqual(files.sort(), groups.map(commandsFile).sort());
    for (const group of groups) {
      const lines = readFileSync(join(folder, "dist", commandsFile(group)), "utf8").split("\n");
      assert.deepEqual(
        lines.map((line) => JSON.parse(line)),
        JSON.parse(JSON.stringify(await declarationsOf(group))),
      );
    }
  });

  /** What measures how wide a text is stands with the code that prints. */
  const printing = ["fast-string-truncated-width", "fast-string-width"];

  it("loads no package to help but what measures text, in few files", async () => {
    const { packages, files, made } = await loadedBy(["contracts", "create", "--help"], {});
    assert.deepEqual([packages, made], [printing, []]);
    assert.ok(files.length <= 5, `${files}`);
  });

  it("loads for a request what parses and sends, in few files; schemas only where they have to check", async (t) => {
    const { emulator } = await cliEmulator(t);
    const env = {
      SVC_BASE_URL: emulator.routerUrl,
      SVC_CLIENT_ID: emulator.clusters[0]!.clientId!,
      SVC_CLIENT_SECRET: emulator.clusters[0]!.clientSecret!,
    };
    // Silent, it says of no answer where that differs from its declaration.
    const { packages, files, made } = await loadedBy(["contracts", "list", "--quiet"], env);
    assert.deepEqual([packages, made], [["commander", ...printing, "undici"], []]);
    assert.ok(files.length <= 4, `${files}`);
    const limited = await loadedBy(["contracts", "list", "--limit", "1"], env);
    assert.deepEqual(limited.packages, ["commander", ...printing, "undici", "zod"]);
  });

  it("loads for a derived command nothing of those that are written by hand, and for those no schema that checks nothing", async (t) => {
    const { emulator } = await cliEmulator(t);
    const env = { SVC_BASE_URL: emulator.routerUrl };
    const packages = ["commander", ...printing, "undici"];
    const derived = await loadedBy(["router", "clusters", "--json=cluster_id", "--quiet"], env);
    assert.deepEqual(JSON.parse(derived.stdout), [{ cluster_id: "eu-1" }, { cluster_id: "us-1" }]);
    assert.deepEqual([derived.packages, derived.files.length], [packages, 4]);
    const written = await loadedBy(
      ["router", "show-email", "ada@northwind.example", "--json=cluster_id", "--quiet"],
      env,
    );
    const hashing = ["@noble/hashes", ...packages];
    assert.deepEqual([JSON.parse(written.stdout), written.packages], [{ cluster_id: "eu-1" }, hashing]);
    assert.ok(written.files.length <= 7, `${written.files}`);
  });

  it("sends through a proxy, as what is loaded for it alone: plain, and by a tunnel to a certificate that is trusted", async (t) => {
    const proxy = await forwardProxy(t, "hunter2");
    const plain = await receiver(t);
    plain.answer((_, response) => response.end('{"database":true}'));
    const value = proxy.url.replace("//", "//ann:hunter2@");
    const env = {
      HTTP_PROXY: value,
      HTTPS_PROXY: value,
      NODE_EXTRA_CA_CERTS: join(root, "fixtures/tls/service.cert.pem"),
    };
    const targets = [plain.url.replace("127.0.0.1", "service.example"), await safeService(t)];
    for (const url of targets) {
      const { stdout, packages } = await loadedBy(["router", "health", "--json", "--quiet", "--base-url", url], env);
      assert.deepEqual([JSON.parse(stdout), packages], [{ database: true }, ["commander", ...printing, "undici"]]);
    }
    assert.deepEqual(proxy.seen, [`GET ${targets[0]}/`, `CONNECT ${new URL(targets[1]!).host}`]);
    const told = await loadedBy(["doctor", "--base-url", targets[1]!], env);
    assert.ok(told.stdout.includes(`${targets[1]} answers through ${proxy.url} (HTTPS_PROXY)`), told.stdout);
    assert.ok(!`${told.stdout}${told.stderr}`.includes("hunter2"));
  });

  it("starts an emulator in its own process, and says nothing but what the command says", async (t) => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [shippedSvc(), "contracts", "list", "--emulator"],
      { cwd: await testFolder(t), env: { PATH: process.env.PATH, SVC_CONFIG_DIR: folder } },
    );
    assert.deepEqual([stdout, stderr], ["", "Nothing found; svc contracts create makes one\n"]);
  });

  it("loads nothing of proxies where none applies", async (t) => {
    const { emulator } = await cliEmulator(t);
    const argv = ["router", "health", "--base-url", emulator.routerUrl];
    const tunnels = (files: readonly string[]) =>
      Object.entries(outputs)
        .filter(([path]) => files.includes(basename(path)))
        .flatMap(([, { inputs }]) =>
          Object.keys(inputs).filter((path) => /tunnels|cli\/connection\/proxies/.test(path)),
        );
    assert.deepEqual(tunnels((await loadedBy(argv, {})).files), []);
    const set = await loadedBy(argv, { HTTPS_PROXY: "http://127.0.0.1:1" });
    assert.deepEqual(tunnels(set.files), ["late:src/cli/connection/proxies.ts", "src/cli/connection/proxies.ts"]);
  });

  it("says so where its version cannot be written", { skip: process.platform !== "linux" && "no /dev/full" }, () => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [shippedSvc(), "--version"], {
      stdio: ["ignore", full, "pipe"],
    });
    closeSync(full);
    assert.equal(status, 1);
    assert.match(String(stderr), /^error: Failed to write to standard output: ENOSPC\.\n/);
  });

  /** What a command loads: files of ours, and the packages that they hold. */
  async function loadedBy(argv: readonly string[], env: Record<string, string>) {
    const options = ["--import", `data:text/javascript,${encodeURIComponent(telling)}`];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...options, shippedSvc(), ...argv], {
      env: { ...env, PATH: process.env.PATH, SVC_CONFIG_DIR: folder },
    });
    const files = [...stderr.matchAll(/^loads .*\/dist\/(.*)$/gm)].map(([, name]) => name!);
    const inputs = Object.entries(outputs)
      .filter(([path]) => files.includes(basename(path)))
      .flatMap(([, output]) => Object.entries(output.inputs))
      .flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
    const packages = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
    const made = [...stderr.matchAll(/^makes (.*)$/gm)].map(([, name]) => name!);
    return { packages: [...new Set(packages)].sort(), files, made, stdout, stderr };
  }
});

/** Names on standard error every chunk that is read, and what takes long to make. */
const telling = `
  import fs from "node:fs";
  const { readFileSync } = fs;
  fs.readFileSync = (path, ...how) => {
    if (/\\/dist\\/(?!start)[^/]+\\.cjs$/.test(path)) fs.writeSync(2, "loads " + path + "\\n");
    return readFileSync(path, ...how);
  };
  Intl.Segmenter = new Proxy(Intl.Segmenter, {
    construct(target, given) {
      fs.writeSync(2, "makes Intl.Segmenter\\n");
      return new target(...given);
    },
  });`;
