import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

/** Starts `svc emulator start --json` and resolves with the ready line. `finished` resolves with the result. */
async function startEmulatorCommand(argv: string, cwd: string) {
  let signal: (name: "SIGINT" | "SIGTERM") => void = () => {};
  let finished!: ReturnType<typeof runCli>;
  const line = await new Promise<string>((ready, failed) => {
    finished = runCli(`emulator start --json --port 0 ${argv}`, {
      cwd,
      onStart: (run) => {
        signal = run.signal;
      },
      onOutput: (stdout) => stdout.endsWith("\n") && ready(stdout),
    });
    finished.then((result) => failed(new Error(`ended: ${JSON.stringify(result)}`)), failed);
  });
  return { ready: JSON.parse(line) as Record<string, unknown>, line, finished, signal };
}

describe("svc emulator start", () => {
  it("prints one line when ready, is found by its folder and stops on request", async (t) => {
    const cwd = await createTestFolder(t);
    const { ready, line, finished } = await startEmulatorCommand("--ready-file ready.json", cwd);
    assert.deepEqual(Object.keys(ready), ["event", "router_url", "control_url", "clusters", "file", "pid"]);
    assert.deepEqual(
      [ready.event, ready.control_url, ready.file, line.indexOf("\n")],
      ["ready", `${ready.router_url}/_emulator`, join(cwd, ".svc/emulator.json"), line.length - 1],
    );
    const { instance_id, token, ...told } = JSON.parse(await readFile(join(cwd, "ready.json"), "utf8"));
    assert.deepEqual(told, JSON.parse(line));
    assert.equal((await stat(join(cwd, "ready.json"))).mode & 0o777, 0o600);
    const env = { SVC_EMULATOR_URL: told.router_url, SVC_EMULATOR_TOKEN: token };
    const elsewhere = await runCli("emulator status --json", { cwd: await createTestFolder(t), env });
    assert.equal(JSON.parse(elsewhere.stdout).instance_id, instance_id);

    const status = JSON.parse((await runCli("emulator status --json", { cwd })).stdout);
    assert.deepEqual([status.running, status.router_url, status.mode], [true, ready.router_url, "real"]);
    const result = await runCli("contracts templates list --emulator --json=id", { cwd });
    assert.equal(result.exit, 0, result.stderr);

    assert.equal((await runCli("emulator stop", { cwd })).exit, 0);
    assert.equal((await finished).exit, 0);
    assert.deepEqual(await runCli("emulator status", { cwd }), { exit: 5, stdout: "not running\n", stderr: "" });
    const stopped = await runCli("emulator status --json", { cwd });
    assert.deepEqual([stopped.exit, JSON.parse(stopped.stdout)], [5, { running: false }]);
  });

  for (const [name, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    it(`closes cleanly on ${name} and exits with ${code}`, async (t) => {
      const cwd = await createTestFolder(t);
      const { finished, signal } = await startEmulatorCommand("", cwd);
      signal(name);
      const { exit, stderr } = await finished;
      assert.deepEqual([exit, stderr.includes("error")], [code, false]);
      assert.equal((await runCli("contracts templates list --emulator --json=id", { cwd })).exit, 0);
    });
  }

  it("rejects a state in use and a port in use", async (t) => {
    const cwd = await createTestFolder(t);
    const { finished, signal } = await startEmulatorCommand("", cwd);
    const second = await runCli("emulator start --port 0", { cwd });
    assert.equal(second.exit, 1);
    assert.match(second.stderr, /^error: An emulator is already running: http.*emulator\.json/);
    signal("SIGTERM");
    await finished;

    const occupiedPort = createServer();
    await new Promise<void>((resolve) => occupiedPort.listen(0, "127.0.0.1", resolve));
    t.after(() => void occupiedPort.close());
    const port = (occupiedPort.address() as { port: number }).port;
    const third = await runCli(`emulator start --ephemeral --port ${port}`, { cwd });
    assert.equal(third.exit, 1);
    assert.match(
      third.stderr,
      /Port \d+ or a following port is in use by another program\.\n {2}Choose another port with --port/,
    );
  });

  for (const [argv, message] of [
    ["--strict=bodeis", /--strict: unknown strict check "bodeis". Did you mean bodies\?/],
    ["--seed none.json", /--seed: cannot read none.json/],
    ["--clock fast", /--clock must be auto, manual or real, got "fast"/],
    ["--clock-start soon", /--clock-start must be a time/],
    ["--auto-sign often", /--auto-sign must be a duration/],
  ] as const) {
    it(`exits with 2 for ${argv}`, async (t) => {
      const { exit, stderr } = await runCli(`emulator start --ephemeral --port 0 ${argv}`, {
        cwd: await createTestFolder(t),
      });
      assert.match(stderr, message);
      assert.equal(exit, 2);
    });
  }

  for (const argv of ["emulator clock", "webhooks why", "webhooks list", "emulator trace T-1"]) {
    it(`exits with 5 and a hint if no emulator is running: ${argv}`, async (t) => {
      const { exit, stderr } = await runCli(argv, { cwd: await createTestFolder(t) });
      assert.equal(exit, 5);
      assert.match(stderr, /No emulator is running \(state: .*\)\.\n.*\n {2}try: svc emulator start --detach\n/);
    });
  }

  it("suggests no start when svc emulator stop finds no emulator", async (t) => {
    const { exit, stderr } = await runCli("emulator stop", { cwd: await createTestFolder(t) });
    assert.deepEqual(
      [exit, stderr.startsWith("error: No emulator is running (state: "), stderr.includes("try:")],
      [5, true, false],
      stderr,
    );
  });
});

describe("svc emulator repair", () => {
  it("preserves the data before the damage and moves the damaged file aside", async (t) => {
    const cwd = await createTestFolder(t);
    await runCli("intake create --title kept --workflow-id 201 --emulator", { cwd });
    const file = join(cwd, ".svc/emulator.json");
    const text = await readFile(file, "utf8");
    const result = await runCli("emulator repair .svc/emulator.json", { cwd });
    assert.deepEqual([result.exit, result.stdout.startsWith("No damage found")], [0, true]);
    const { repaired, damage } = JSON.parse(
      (await runCli("emulator repair .svc/emulator.json --json", { cwd })).stdout,
    );
    assert.deepEqual([repaired, damage], [false, []]);

    await writeFile(file, text.slice(0, -200));
    const list = await runCli("contracts templates list --emulator", { cwd });
    assert.equal(list.exit, 1);
    assert.match(list.stderr, /svc emulator repair/);
    const repair = await runCli("emulator repair .svc/emulator.json", { cwd });
    assert.equal(repair.exit, 0, repair.stderr);
    assert.match(
      repair.stdout,
      /^damaged: .*emulator.json.*\n(.*\n)*renamed: .*emulator.json.damaged\nretained: \d+ rows/,
    );
    assert.equal(await readFile(`${file}.damaged`, "utf8"), text.slice(0, -200));
    assert.equal((await runCli("contracts templates list --emulator", { cwd })).exit, 0);
  });

  it("exits with 2 without a file", async (t) => {
    assert.equal((await runCli("emulator repair none.json", { cwd: await createTestFolder(t) })).exit, 2);
  });
});

const createExecArguments = (code: string) => ["emulator", "exec", "--", process.execPath, "-e", code];

describe("svc emulator exec", () => {
  it("provides all variables to the command but none of the real service", async (t) => {
    const cwd = await createTestFolder(t);
    const code =
      'console.log(JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("SVC_")))))';
    const { exit, stdout } = await runCli(createExecArguments(code), {
      cwd,
      env: { SVC_TOKEN: "real", SVC_CLIENT_SECRET: "real", SVC_PROFILE: "real" },
    });
    const env = JSON.parse(stdout);
    assert.equal(exit, 0);
    assert.deepEqual(Object.keys(env).sort(), [
      "SVC_BASE_URL",
      "SVC_CLIENT_ID",
      "SVC_CLIENT_SECRET",
      "SVC_CLUSTERS",
      "SVC_CLUSTER_KEY",
      "SVC_CONFIG_DIR",
      "SVC_CONTRACTS_URL",
      "SVC_EMULATOR_TOKEN",
      "SVC_EMULATOR_URL",
      "SVC_ROUTER_URL",
      "SVC_WEBHOOK_HMAC_KEY",
    ]);
    assert.equal(stdout.includes("real"), false);
    assert.deepEqual(
      JSON.parse(env.SVC_CLUSTERS).map((cluster: object) => Object.keys(cluster)),
      [1, 2].map(() => ["id", "url", "client_id", "client_secret", "cluster_key"]),
    );
  });

  it("warns only if other machines can reach the emulator", async (t) => {
    const cwd = await createTestFolder(t);
    const execOn = (host: string, ...extraArgs: string[]) =>
      runCli(["emulator", "exec", "--host", host, ...extraArgs, "--", process.execPath, "-e", ""], { cwd });
    const open = "warning: listening on 0.0.0.0: other machines can reach this emulator, ";
    assert.deepEqual(await execOn("0.0.0.0"), {
      exit: 0,
      stdout: "",
      stderr: `${open}but requests to a name or address other than localhost get 403. To allow a name: --allowed-host NAME\n`,
    });
    const publicUrls = ["", "eu-1=", "us-1="].flatMap((name) => ["--public-url", `${name}https://sandbox.example`]);
    const hostFlags = ["--allowed-host", "box.example", ...publicUrls];
    assert.equal((await execOn("0.0.0.0", ...hostFlags)).stderr, `${open}under box.example, sandbox.example\n`);
    for (const host of ["127.0.0.1", "localhost"])
      assert.deepEqual(await execOn(host), { exit: 0, stdout: "", stderr: "" });
  });

  it("exits with the command's code, 128 + n after a signal, 127 for a missing program", async (t) => {
    const cwd = await createTestFolder(t);
    assert.equal((await runCli(createExecArguments("process.exit(7)"), { cwd })).exit, 7);
    assert.equal((await runCli(createExecArguments('process.kill(process.pid, "SIGKILL")'), { cwd })).exit, 137);
    const missing = await runCli("emulator exec -- no-such-program", { cwd });
    assert.deepEqual(
      [missing.exit, missing.stderr],
      [127, "error: Cannot run no-such-program: no such program or interpreter\n"],
    );
    const json = await runCli("emulator exec --json -- no-such-program", { cwd });
    const message = "Cannot run no-such-program: no such program or interpreter";
    const details = { hint: null, requestId: null, retryable: false, exitCode: 127, next: [] };
    assert.deepEqual(
      [json.exit, JSON.parse(json.stderr)],
      [127, { error: { code: "cannot_run", message, ...details } }],
    );
    await writeFile(join(cwd, "other.sh"), "#!/no/such/sh\n", { mode: 0o700 });
    const other = await runCli("emulator exec -- ./other.sh", { cwd });
    assert.deepEqual(
      [other.exit, other.stderr],
      [127, "error: Cannot run ./other.sh: no such program or interpreter\n"],
    );
    await writeFile(join(cwd, "script.sh"), "true\n", { mode: 0o600 });
    const denied = await runCli("emulator exec -- ./script.sh", { cwd });
    const reason = "permission is denied (EACCES)";
    assert.deepEqual([denied.exit, denied.stderr], [126, `error: Cannot run ./script.sh: ${reason}\n`]);
    assert.equal((await runCli("emulator exec", { cwd })).exit, 2);
    // A variable of a pipeline that is not set.
    const empty = await runCli(["emulator", "exec", "--", ""], { cwd });
    assert.deepEqual([empty.exit, empty.stderr.split("\n")[0]], [2, "error: <command> must not be empty"]);
    const emptyArgument = await runCli(createExecArguments("process.exit(process.argv.length + 40)").concat(""), {
      cwd,
    });
    assert.equal(emptyArgument.exit, 42);
    const quoted = await runCli(["emulator", "exec", "--", "npx svc contracts list"], { cwd });
    assert.deepEqual(
      [quoted.exit, quoted.stderr],
      [
        127,
        "error: Cannot run npx svc contracts list: no such program or interpreter\n" +
          "  The command runs without a shell. Separate its arguments, or run sh -c 'npx svc contracts list'.\n",
      ],
    );
  });

  for (const ownFlags of ["", "--clock manual ", "--json ", "--file exec ", "--port=0 "]) {
    it(`forwards all arguments after the command's name, even without --: ${ownFlags}`, async (t) => {
      const cwd = await createTestFolder(t);
      const script = join(cwd, "words.mjs");
      await writeFile(script, "console.log(JSON.stringify(process.argv.slice(2)))");
      const words = "--quiet --yes two --deterministic --help --version --json=id -- --emulator";
      const { exit, stdout } = await runCli(`emulator exec ${ownFlags}${process.execPath} ${script} ${words}`, { cwd });
      assert.deepEqual([exit, JSON.parse(stdout)], [0, words.split(" ")]);
    });
  }

  it("passes arguments without a shell, including flags, and stores nothing", async (t) => {
    const cwd = await createTestFolder(t);
    const { stdout } = await runCli(
      [
        "emulator",
        "exec",
        "--",
        process.execPath,
        "-p",
        "process.argv.slice(1).join()",
        "--",
        "$HOME",
        "--json",
        "a b",
      ],
      { cwd },
    );
    assert.equal(stdout, "$HOME,--json,a b\n");
    assert.equal((await runCli("emulator status", { cwd })).exit, 5);
  });

  it("forwards signals and exits with the command's exit code", async (t) => {
    const cwd = await createTestFolder(t);
    let signal: (name: "SIGTERM") => void = () => {};
    const { exit } = await runCli(
      createExecArguments(
        'process.on("SIGTERM", () => process.exit(9)); setInterval(() => {}, 1e6); console.log("up")',
      ),
      {
        cwd,
        onStart: (run) => {
          signal = run.signal;
        },
        onOutput: () => signal("SIGTERM"),
      },
    );
    assert.equal(exit, 9);
  });
});
