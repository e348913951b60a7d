import assert from "node:assert/strict";
import { chmod, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { ManualWallClock } from "../../support/clocks/manual-wall-clock.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";
import { runProgram } from "../../support/foreign/program.ts";

/** An emulator with the state of a folder, like svc emulator start. */
async function startEmulatorInFolder(t: TestContext) {
  const cwd = await createTestFolder(t);
  return { cwd, twin: await startTestEmulator(t, { file: join(cwd, ".svc/emulator.json") }) };
}

/** A browser that records its argument in a file. */
async function createRecordingBrowser(folder: string) {
  const [program, told] = [join(folder, "browser"), join(folder, "told")];
  await writeFile(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$@" > "${told}.new" && env >> "${told}.new" && mv "${told}.new" "${told}"\n`,
  );
  await chmod(program, 0o755);
  const read = async (): Promise<string> => {
    const text = await readFile(told, "utf8").catch(() => "");
    return text === "" ? new Promise((resolve) => setImmediate(resolve)).then(read) : text;
  };
  return { program, told: read };
}

const createConsoleUrlPattern = (url: string) => new RegExp(`^${url}/_emulator/ui/#code=[\\w-]{43}\\n$`);
const noBrowserMessage = "No browser found. Open this address yourself within 60 seconds.\n";

describe("svc emulator open", () => {
  it("opens an address that signs the browser in once and does not print the code", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const browser = await createRecordingBrowser(cwd);
    const { exit, stdout, stderr } = await runCli("emulator open", {
      cwd,
      env: { BROWSER: browser.program, SVC_TOKEN: "s3" },
    });
    assert.deepEqual([exit, stdout, stderr], [0, "", `Opened ${emulator.controlUrl}/ui/ in the browser\n`]);
    const [url = "", ...rest] = (await browser.told()).split("\n");
    assert.match(`${url}\n`, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual(
      rest.filter((line) => line.startsWith("SVC_") || line.startsWith("http")),
      [],
    );
    const body = { code: new URL(url).hash.slice("#code=".length) };
    const exchanged = async () => (await emulator.router("POST", "/_emulator/sessions", { body })).status;
    assert.deepEqual([await exchanged(), await exchanged()], [201, 403]);
  });

  it("prints the address without a browser and reports the missing browser", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { exit, stdout, stderr } = await runCli("emulator open", { cwd, env: { BROWSER: "none" } });
    assert.match(stdout, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual([exit, stderr], [0, noBrowserMessage]);
  });

  it("prints the address if the browser does not start and names the browser", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { exit, stdout, stderr } = await runCli("emulator open", { cwd, env: { BROWSER: "no-such-browser" } });
    assert.match(stdout, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual(
      [exit, stderr],
      [0, "no-such-browser could not be started. Open this address yourself within 60 seconds.\n"],
    );
  });

  it("prints the address if the browser fails after a moment, like xdg-open", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const program = join(cwd, "opener");
    await writeFile(program, "#!/bin/sh\ncat /dev/null\nexit 3\n", { mode: 0o755 });
    const { exit, stdout, stderr } = await runCli("emulator open", { cwd, env: { BROWSER: program } });
    assert.match(stdout, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual(
      [exit, stderr],
      [0, `${program} could not open it. Open this address yourself within 60 seconds.\n`],
    );
    const asJson = await runCli("emulator open --json", { cwd, env: { BROWSER: program } });
    assert.equal(JSON.parse(asJson.stdout).opened, false);
  });

  it("treats a running browser as success", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const wall = new ManualWallClock();
    const [program, end] = [join(cwd, "browser"), join(cwd, "end")];
    await runProgram("mkfifo", [end], { cwd });
    await writeFile(program, `#!/bin/sh\ncat "${end}"\n`, { mode: 0o755 });
    const opening = runCli("emulator open", { cwd, env: { BROWSER: program }, wall });
    // The browser runs while this end of the pipe is open.
    const running = await open(end, "w");
    await wall.pass(3_000);
    const { exit, stdout, stderr } = await opening;
    await running.close();
    assert.deepEqual([exit, stdout, stderr], [0, "", `Opened ${emulator.controlUrl}/ui/ in the browser\n`]);
  });

  it("prints the address with --url and opens no browser", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { exit, stdout, stderr } = await runCli("emulator open --url", { cwd, env: { BROWSER: "no-such-browser" } });
    assert.match(stdout, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual([exit, stderr], [0, ""]);
    const asJson = await runCli("emulator open --url --json", { cwd });
    const { url, ...rest } = JSON.parse(asJson.stdout);
    assert.match(`${url}\n`, createConsoleUrlPattern(emulator.routerUrl));
    assert.deepEqual(rest, { opened: false, expires_in: 60 });
  });

  it("finds the emulator by its state file from any folder", async (t) => {
    const { twin: emulator } = await startEmulatorInFolder(t);
    const { stdout } = await runCli(["emulator", "open", "--url", "--file", emulator.file!], {
      cwd: await createTestFolder(t),
    });
    assert.match(stdout, createConsoleUrlPattern(emulator.routerUrl));
  });

  it("names the next step if the token is missing or bound to a workspace", async (t) => {
    const { twin: emulator } = await startEmulatorInFolder(t);
    const body = { role: "admin", workspace: "Fabrikam Sales" };
    const { token } = (await emulator.control("POST", "tokens/team", { body })).body as { token: string };
    const cwd = await createTestFolder(t);
    const open = async (env: Record<string, string>) => {
      const { exit, stdout, stderr } = await runCli("emulator open", { cwd, env });
      return [exit, stdout, ...stderr.trim().split("\n  ")];
    };
    const address = { SVC_EMULATOR_URL: emulator.controlUrl };
    const request =
      "Request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.";
    assert.deepEqual(await open(address), [
      4,
      "",
      "error: This request requires control-token credentials.",
      "Set SVC_EMULATOR_TOKEN, or emulator_token of the profile, to a token from the operator of the emulator. On its machine, run the command in the folder of its state.",
    ]);
    assert.deepEqual(await open({ ...address, SVC_EMULATOR_TOKEN: token }), [
      4,
      "",
      "error: The console shows all workspaces. The token team is bound to the workspace Fabrikam Sales (HTTP 403)",
      `${request} With this one, use commands such as \`svc emulator contracts\` and \`svc emulator requests\`.`,
    ]);
  });

  it("rejects a missing emulator and an emulator that would end with the command", async (t) => {
    const cwd = await createTestFolder(t);
    const nowhere = await runCli("emulator open --json", { cwd });
    assert.deepEqual([nowhere.exit, nowhere.stdout, JSON.parse(nowhere.stderr).error.code], [5, "", "no_emulator"]);

    const result = await runCli("emulator open --emulator", { cwd });
    assert.deepEqual([result.exit, result.stdout], [2, ""]);
  });

  it("preserves existing console sessions", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { stdout } = await runCli("emulator open --url", { cwd });
    const body = { code: stdout.trim().split("#code=")[1] };
    const response = await emulator.router("POST", "/_emulator/sessions", { body });
    const { token } = response.body as { token: string };
    await runCli("emulator open --url", { cwd });
    const [cookie = ""] = response.headers.get("set-cookie")!.split(";");
    const headers = { authorization: `Bearer ${token}`, cookie };
    const clock = await emulator.router("GET", "/_emulator/clock", { headers });
    assert.deepEqual(pickStatusAndBody(clock), pickStatusAndBody(await emulator.control("GET", "clock")));
  });
});
