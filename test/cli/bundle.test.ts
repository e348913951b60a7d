import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { getCommandsFile, groupNames, loadDeclarations } from "../../src/cli/command-tree/tree.ts";
import { root } from "../structure/repository.ts";
import { addCleanup } from "../support/cleanup.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { startForwardProxy } from "../support/cli/forward-proxy.ts";
import { ndaContractJson } from "../support/cli/nda.ts";
import { startTlsService } from "../support/cli/tls-service.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";
import { getPackageFolder, getSvcPath, readConsoleMetafile, readMetafile } from "../support/shipped.ts";

describe("bundled CLI", () => {
  const folder = getPackageFolder();
  const { outputs } = readMetafile();

  it("includes the license of exactly the bundled packages", () => {
    const dist = join(folder, "dist");
    const from = [
      ...Object.values({ ...outputs, ...readConsoleMetafile().outputs }).flatMap(({ inputs }) =>
        Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [["", path]] : [])),
      ),
      // PDF fonts are files, not code.
      ["", "node_modules/dejavu-fonts-ttf/"],
    ].flatMap(([, path = ""]) => /^.*node_modules\/(?:@[^/\n]+\/)?[^/\n]+/.exec(path)?.[0] ?? []);
    const heldPackages = [...new Set(from)].map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      return `${name} ${version} (${license})`;
    });
    const [, ...sections] = readFileSync(join(dist, "THIRD-PARTY.txt"), "utf8").split(/^-{80}\n/m);
    assert.deepEqual(sections.map((section) => section.split("\n")[0]).sort(), heldPackages.sort());
    const short = sections.filter((section) => section.length < 500);
    assert.deepEqual(short, []);
    assert.ok(sections.length > 50, `${sections.length} packages`);
  });

  it("splits no string over two lines, because bundlers indent the second line", () => {
    const dist = join(folder, "dist");
    const files = readdirSync(dist).filter((name) => /\.c?js$/.test(name) && !name.endsWith("-process.js"));
    assert.deepEqual(
      files.filter((name) => readFileSync(join(dist, name), "utf8").includes("\\\n")),
      [],
    );
  });

  it("contains the commands of development, including the hand-written commands", async () => {
    const groups = await groupNames();
    const files = readdirSync(join(folder, "dist/commands")).map((name) => `commands/${name}`);
    assert.deepEqual(files.sort(), groups.map(getCommandsFile).sort());
    for (const group of groups) {
      const lines = readFileSync(join(folder, "dist", getCommandsFile(group)), "utf8").split("\n");
      assert.deepEqual(
        lines.map((line) => JSON.parse(line)),
        JSON.parse(JSON.stringify(await loadDeclarations(group))),
      );
    }
  });

  it("connects through a proxy with plain HTTP and with a tunnel and a trusted certificate", async (t) => {
    const proxy = await startForwardProxy(t, "hunter2");
    const plain = await startReceiver(t);
    plain.respond((_, response) => response.end('{"database":true}'));
    const value = proxy.url.replace("//", "//ann:hunter2@");
    const env = {
      HTTP_PROXY: value,
      HTTPS_PROXY: value,
      NODE_EXTRA_CA_CERTS: join(root, "fixtures/tls/service.cert.pem"),
    };
    const targets = [plain.url.replace("127.0.0.1", "service.example"), await startTlsService(t)];
    for (const url of targets) {
      const { stdout } = await runShipped(["router", "health", "--json", "--quiet", "--base-url", url], env);
      assert.deepEqual(JSON.parse(stdout), { database: true });
    }
    assert.deepEqual(proxy.targets, [`GET ${targets[0]}/`, `CONNECT ${new URL(targets[1]!).host}`]);
    const doctor = await runShipped(["doctor", "--base-url", targets[1]!], env);
    assert.ok(doctor.stdout.includes(`${targets[1]} responds through ${proxy.url} (HTTPS_PROXY)`), doctor.stdout);
    assert.ok(!`${doctor.stdout}${doctor.stderr}`.includes("hunter2"));
  });

  it("starts an emulator in its own process without additional output", async (t) => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [getSvcPath(), "contracts", "list", "--emulator"],
      { cwd: await createTestFolder(t), env: { PATH: process.env.PATH, SVC_CONFIG_DIR: folder } },
    );
    assert.deepEqual([stdout, stderr], ["", "Nothing found; to create one: svc contracts create\n"]);
  });

  it("records a journey that changes a service, and replays it", async (t) => {
    const cwd = await createTestFolder(t);
    const { routerUrl, clusters } = await startTestEmulator(t);
    const { clientId = "", clientSecret = "" } = clusters[0]!;
    const env = { SVC_BASE_URL: routerUrl, SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret };
    await runShipped(["verify", "record", "--out", "corpus", "--allow-writes", "--yes", "--rate", "1000"], env, cwd);
    assert.match((await runShipped(["verify", "replay", "corpus"], {}, cwd)).stdout, /^No drift$/m);
  });

  it("loads only the libraries that a command uses", async (t) => {
    const cwd = await createTestFolder(t);
    const probe = join(cwd, "probe.cjs");
    await writeFile(
      probe,
      'process.once("exit", () => process._rawDebug(JSON.stringify(Object.keys(require.cache))));',
    );
    const {
      routerUrl,
      clusters: [cluster],
    } = await startTestEmulator(t);
    const variables = {
      SVC_BASE_URL: routerUrl,
      SVC_CLIENT_ID: cluster?.clientId,
      SVC_CLIENT_SECRET: cluster?.clientSecret,
    };
    const loadedBy = async (argv: readonly string[], env: NodeJS.ProcessEnv) => {
      const { stderr } = await promisify(execFile)(process.execPath, ["--require", probe, getSvcPath(), ...argv], {
        cwd,
        env: { PATH: process.env.PATH, SVC_CONFIG_DIR: folder, ...env },
      });
      const files = (JSON.parse(stderr.trimEnd().split("\n").at(-1)!) as string[]).map((path) => basename(path));
      const inputs = Object.entries(outputs).flatMap(([path, { inputs }]) =>
        files.includes(basename(path)) ? Object.keys(inputs) : [],
      );
      return [...new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []))].sort();
    };
    const width = ["fast-string-truncated-width", "fast-string-width"];
    const ofRequest = ["commander", ...width, "undici"];
    assert.deepEqual(await loadedBy(["help"], variables), width);
    assert.deepEqual(await loadedBy(["contracts", "list", "--json"], variables), ofRequest);
    // Commands find the emulator of the folder with requests of their own.
    await runShipped(["emulator", "start", "--detach", "--port", "0"], {}, cwd);
    addCleanup(t, () => runShipped(["emulator", "stop"], {}, cwd));
    await writeFile(join(cwd, "nda.json"), ndaContractJson);
    await runShipped(["contracts", "create", "--data", "nda.json"], {}, cwd);
    assert.deepEqual(await loadedBy(["contracts", "list", "--json"], {}), ofRequest);
    assert.deepEqual(await loadedBy(["contracts", "status", "T-1", "--json"], {}), ofRequest);
  });

  it("loads only the modules of Node that a command uses", async (t) => {
    const cwd = await createTestFolder(t);
    const probe = join(cwd, "probe.cjs");
    await writeFile(
      probe,
      `const before = new Set(process.moduleLoadList);
      process.once("exit", () => process._rawDebug(JSON.stringify(process.moduleLoadList.filter((id) => !before.has(id)))));`,
    );
    const { routerUrl } = await startTestEmulator(t);
    const loadedBy = async (...argv: readonly string[]) => {
      const { stderr } = await promisify(execFile)(process.execPath, ["--require", probe, getSvcPath(), ...argv], {
        cwd,
        env: { PATH: process.env.PATH, SVC_CONFIG_DIR: folder, SVC_BASE_URL: routerUrl },
      });
      const ids = JSON.parse(stderr.trimEnd().split("\n").at(-1)!) as string[];
      return ["crypto", "fs/promises", "http", "net", "zlib"].filter((id) => ids.includes(`NativeModule ${id}`));
    };
    // Standard output is a pipe.
    assert.deepEqual(await loadedBy("help"), ["net"]);
    assert.deepEqual(await loadedBy("router", "health", "--json", "--quiet"), ["http", "net"]);
  });

  it("reports a version location that is not writable", {
    skip: process.platform !== "linux" && "no /dev/full",
  }, () => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [getSvcPath(), "--version"], {
      stdio: ["ignore", full, "pipe"],
    });
    closeSync(full);
    assert.equal(status, 1);
    assert.match(
      String(stderr),
      /^error: Failed to write to standard output: no space is left on the disk \(ENOSPC\)\.\n/,
    );
  });

  async function runShipped(argv: readonly string[], env: Record<string, string>, cwd?: string) {
    return promisify(execFile)(process.execPath, [getSvcPath(), ...argv], {
      cwd,
      env: { ...env, PATH: process.env.PATH, SVC_CONFIG_DIR: folder },
    });
  }
});
