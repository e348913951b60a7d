import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getProgramPath } from "../../support/program.ts";
import { getSvcPath } from "../../support/shipped.ts";

const nobodyUid = 65_534;
const isRoot = process.getuid?.() === 0;
/** Root can write everywhere, so the tests run as another user. */
const asNobody = isRoot ? ["setpriv", `--reuid=${nobodyUid}`, `--regid=${nobodyUid}`, "--clear-groups"] : [];

const createUnprivilegedCommand = () => [...asNobody, process.execPath, getSvcPath()];

interface Run {
  readonly exit: number | null;
  readonly stderr: string;
}

function run(
  started: readonly string[],
  argv: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Run {
  const [first, ...words] = [...started, ...argv];
  const { status, stderr } = spawnSync(first!, words, {
    cwd: folder,
    encoding: "utf8",
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SVC_CONFIG_DIR: join(folder, "config"),
      SVC_BASE_URL: "http://127.0.0.1:1",
      ...env,
    },
  });
  return { exit: status, stderr };
}

const lowest = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

const has = (program: string, ...argv: readonly string[]) => spawnSync(program, argv).status === 0;
const canRead = isRoot
  ? has("setpriv", ...asNobody.slice(1), process.execPath, getSvcPath(), "--version")
  : process.platform === "linux";
const unlessNobody = { skip: canRead ? false : "nobody else may read the project here" };
/** Whether the system reserves the lowest ports for root. */
const isGuarded = existsSync(lowest) && Number(readFileSync(lowest, "utf8")) > 1;
const unlessGuarded = { skip: canRead && isGuarded ? false : "nobody else may run here, or everybody takes any port" };
const isolated = ["unshare", "--net", "--map-root-user"] as const;
const unlessIsolated = { skip: has(...isolated, "ip", "address") ? false : "this user cannot create a network" };
const unlessLimits = { skip: has("prlimit", "--version") ? false : "prlimit is not installed" };
const unlessFull = { skip: process.platform === "linux" ? false : "there is no /dev/full" };

/** A folder with a subfolder that its user cannot write to. */
async function createReadOnlyFolder(t: TestContext): Promise<string> {
  const folder = await createTestFolder(t);
  await mkdir(join(folder, "wall"));
  await chmod(join(folder, "wall"), 0o555);
  await chmod(folder, 0o755);
  await writeFile(join(folder, "rows.txt"), "1\n");
  if (isRoot) await chown(folder, nobodyUid, nobodyUid);
  return folder;
}

describe("system error message with a hint", () => {
  it("explains a state that is not writable", unlessNobody, async (t) => {
    const folder = await createReadOnlyFolder(t);
    const { exit, stderr } = run(
      createUnprivilegedCommand(),
      ["emulator", "start", "--port", "0", "--file", "wall/state.json"],
      folder,
    );
    assert.equal(exit, 1, stderr);
    assert.match(stderr, /^error: The state .*wall\/state\.json cannot be opened: permission is denied \(EACCES at /);
    assert.match(
      stderr,
      /Grant this user read and write access, choose another file with --file, or use --ephemeral\./,
    );
  });

  it("explains an emulator that cannot create its folder", unlessNobody, async (t) => {
    const folder = await createReadOnlyFolder(t);
    const wall = join(folder, "wall");
    const result = run(createUnprivilegedCommand(), ["contracts", "templates", "list", "--emulator"], wall, {
      SVC_BASE_URL: "",
    });
    const state = join(wall, ".svc/emulator.json");
    assert.deepEqual(
      [result.exit, result.stderr.split(": ").slice(0, 3)],
      [
        1,
        [
          "error",
          `The state ${state} cannot be opened`,
          `permission is denied (EACCES at ${join(wall, ".svc")}). Grant this user read and write access, choose another file with --file, or use --ephemeral.\n`,
        ],
      ],
    );
    const detached = run(createUnprivilegedCommand(), ["emulator", "start", "--detach", "--port", "0"], wall);
    assert.deepEqual(detached, {
      exit: 1,
      stderr: `error: Failed to write the log ${state}.log: permission is denied (EACCES).\n  The log is next to the state. Choose another state with --file, or use --ephemeral without --detach.\n`,
    });
  });

  it("explains an emulator that cannot listen", unlessGuarded, async (t) => {
    const folder = await createReadOnlyFolder(t);
    const start = ["emulator", "start", "--ephemeral", "--port"];
    assert.deepEqual(run(createUnprivilegedCommand(), [...start, "1"], folder), {
      exit: 2,
      stderr: [
        "error: This user cannot listen on port 1 (EACCES)",
        "  Choose a port above 1023 with --port, or use --port 0 for free ports.",
        "",
      ].join("\n"),
    });
  });

  it("explains an invalid or remote address to listen at", async (t) => {
    const cwd = await createTestFolder(t);
    for (const host of ["300.1.1.1", "192.0.2.1"]) {
      const { exit, stderr } = await runCli(["emulator", "start", "--ephemeral", "--port", "0", "--host", host], {
        cwd,
      });
      assert.equal(exit, 2, stderr);
      // Nothing else, such as a warning that other machines can reach it.
      assert.match(
        stderr,
        new RegExp(`^error: --host must be an address of this machine, got "${host}" \\(E\\w+\\)\n`),
      );
    }
  });

  it("explains a network without a loopback address", unlessIsolated, async (t) => {
    const folder = await createTestFolder(t);
    const script = 'ip link set lo up && ip address delete 127.0.0.1/8 dev lo; exec "$@"';
    const command = [...isolated, "sh", "-c", script, "sh", process.execPath, getSvcPath()];
    assert.deepEqual(run(command, ["emulator", "exec", "--", "true"], folder), {
      exit: 1,
      stderr: [
        "error: This machine has no address 127.0.0.1 (EADDRNOTAVAIL).",
        "  Bring up its loopback interface (ip link set lo up), and try again.",
        "",
      ].join("\n"),
    });
  });

  it("does not blame a running emulator if no request can be sent", async (t) => {
    const folder = await createTestFolder(t);
    const { routerUrl } = await startTestEmulator(t, { file: join(folder, ".svc/emulator.json") });
    const withoutWasm = { NODE_OPTIONS: "--jitless" };
    const { exit, stderr } = run([process.execPath, getSvcPath()], ["emulator", "stop"], folder, withoutWasm);
    assert.deepEqual(
      [exit, stderr.slice(stderr.indexOf("error: "))],
      [
        75,
        `error: Failed to reach ${routerUrl}: WebAssembly is not defined (UNKNOWN).\n` +
          "  Check the address, and that the service is running.\n",
      ],
    );
  });

  it("explains a configuration that is not writable", unlessNobody, async (t) => {
    const folder = await createReadOnlyFolder(t);
    await mkdir(join(folder, "config"), { mode: 0o555 });
    const { exit, stderr } = run(createUnprivilegedCommand(), ["config", "set", "client_id", "x"], folder);
    assert.equal(exit, 1, stderr);
    assert.match(
      stderr,
      /^error: Failed to write .*profiles\.json: permission is denied \(EACCES\)\.\n {2}Set SVC_CONFIG_DIR /,
    );
    const signIn = ["auth", "device-login", "--base-url", "http://127.0.0.1:9", "--client-id", "x"];
    const signInResult = run(createUnprivilegedCommand(), signIn, folder);
    assert.match(signInResult.stderr, /^error: Failed to write to .*: permission is denied \(EACCES\)\.\n {2}Set SVC_/);
  });

  it("explains a response or deliveries that cannot be written", unlessNobody, async (t) => {
    const folder = await createReadOnlyFolder(t);
    const output = run(createUnprivilegedCommand(), ["files", "download", "x", "--output", "wall/x.pdf"], folder);
    assert.deepEqual(
      [output.exit, output.stderr.split("\n")[0]],
      [2, "error: --output: cannot write to the folder wall: permission is denied (EACCES)"],
    );
    const save = run(
      createUnprivilegedCommand(),
      ["webhooks", "listen", "--save", "wall/saved", "--port", "0"],
      folder,
    );
    assert.deepEqual(
      [save.exit, save.stderr.split("\n")[0]],
      [2, `error: --save: cannot write ${join(folder, "wall", "saved")}: permission is denied (EACCES)`],
    );
  });

  it("explains a full disk", unlessFull, async (t) => {
    const { api, clusters } = await startTestEmulator(t);
    const { id } = await createDraftContract(api);
    const { url, clientId, clientSecret } = clusters[0]!;
    const env = { SVC_CONTRACTS_URL: url, SVC_CLIENT_ID: clientId!, SVC_CLIENT_SECRET: clientSecret! };
    const { exit, stderr } = await runCli(["contracts", "download", id, "--output", "/dev/full"], { env });
    assert.equal(exit, 1, stderr);
    assert.match(stderr, /^error: Failed to write \/dev\/full: no space is left on the disk \(ENOSPC\)\./);
  });

  it("explains too many open files", unlessLimits, async (t) => {
    const folder = await createTestFolder(t);
    await mkdir(join(folder, "config"));
    const { exit, stderr } = run(
      [process.execPath, getProgramPath("svc-few-files")],
      ["config", "set", "client_id", "x"],
      folder,
    );
    assert.equal(exit, 1, stderr);
    assert.match(stderr, /error: .*: too many files are open \(EMFILE\)\./);
  });
});
