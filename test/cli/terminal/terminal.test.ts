import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { hasProgram, installSvc, openSvcTerminal, openTerminal } from "../../support/cli/terminal.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const skip = hasProgram("tmux") ? false : "tmux is not installed";

/** A shell at a real terminal with an emulator in its environment. */
async function openShell(t: TestContext, size: { columns?: number } = {}) {
  const folder = await createTestFolder(t);
  await installSvc(folder);
  const emulator = await startTestEmulator(t);
  const host = { env: {} } as unknown as Parameters<typeof buildChildEnvironment>[1];
  const env = { ...(buildChildEnvironment(emulator, host) as Record<string, string>), SVC_CONFIG_DIR: folder };
  const shell = await openTerminal(t, ["bash", "--norc", "--noprofile"], { folder, env, ...size });
  await shell.waitFor("$");
  return { emulator, ...shell };
}

describe("svc at a terminal", { skip }, () => {
  it("prompts, accepts arrow keys and prints only the response to the pipe", async (t) => {
    const { keys, waitFor, cursor } = await openShell(t);
    await keys("svc contracts templates show --json > out.json; echo exit=$?", "Enter");
    await waitFor("Mutual NDA");
    await keys("Down", "Enter");
    await waitFor("exit=0");
    await keys("clear; node -p 'JSON.parse(fs.readFileSync(\"out.json\")).name'", "Enter");
    await waitFor("Service Agreement");
    assert.equal(await cursor(), true);
  });

  it("offers the workflows for an intake", async (t) => {
    const { keys, waitFor } = await openShell(t);
    await keys("svc intake create --json=id,title 2>/dev/tty > out.json; echo exit=$?", "Enter");
    await waitFor("Title of the request");
    await keys("Review it", "Enter");
    await waitFor("Legal help");
    await keys("Enter");
    await waitFor("exit=0");
    await keys("clear; node -p 'JSON.parse(fs.readFileSync(\"out.json\")).title'", "Enter");
    await waitFor(/^Review it$/m);
  });

  it("restores the terminal after Ctrl-C at a prompt and exits with 130", async (t) => {
    const { keys, waitFor, cursor } = await openShell(t);
    await keys("svc contracts templates show; echo exit=$?", "Enter");
    await waitFor("Mutual NDA");
    await keys("C-c");
    const screen = await waitFor("exit=130");
    assert.equal(/error:|\.ts:|at async/.test(screen), false, screen);
    assert.equal(await cursor(), true);
    await keys("echo typed", "Enter");
    await waitFor(/^typed$/m);
  });

  it("leaves a prompt at Ctrl-D and stops the emulator that it started", async (t) => {
    const { keys, waitFor, cursor } = await openShell(t);
    const aside = "SVC_ROUTER_URL= SVC_CONTRACTS_URL=";
    await keys(`${aside} svc contracts templates show --emulator; echo exit=$?`, "Enter");
    await waitFor("Mutual NDA");
    await keys("C-d");
    const screen = await waitFor("exit=130");
    assert.equal(/error:|\.ts:|at async/.test(screen), false, screen);
    assert.equal(await cursor(), true);
    await keys("clear; ls .svc; svc config set client_secret; echo exit=$?", "Enter");
    // The typed line also contains the name. The prompt is below the list.
    const output = await waitFor(/^emulator\.json[\s\S]*client_secret/);
    assert.match(output, /^emulator\.json {2}/);
    assert.equal(output.includes("emulator.json.run"), false, output);
    await keys("x", "C-d");
    await waitFor("[input is masked]");
    await keys("BSpace", "C-d");
    await waitFor("exit=130");
    await keys("echo typed", "Enter");
    await waitFor(/^typed$/m);
  });

  it("continues a prompt after Ctrl-Z and fg", async (t) => {
    const { keys, waitFor, cursor } = await openShell(t);
    await keys("svc contracts templates show; echo exit=$?", "Enter");
    await waitFor("Mutual NDA");
    await keys("C-z");
    await waitFor("Stopped");
    assert.equal(await cursor(), true);
    await keys("clear", "Enter", "fg", "Enter");
    await waitFor(/^svc contracts templates show$/m);
    await keys("Down", "Enter");
    await waitFor("name              Service Agreement");
  });

  it("shows a spinner while a service is slow and clears the spinner after Ctrl-C", async (t) => {
    const slow = await startReceiver(t);
    slow.respond(() => {});
    const { keys, waitFor, cursor } = await openShell(t);
    await keys(`svc router health --base-url ${slow.url}; echo exit=$?`, "Enter");
    const turning = await waitFor("Check the health of the routing service");
    assert.match(turning, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Check the health/);
    await keys("C-c");
    const screen = await waitFor("exit=130");
    assert.equal(screen.includes("Check the health"), false, screen);
    assert.equal(await cursor(), true);
  });

  it("shows the cursor while Ctrl-Z suspends a spinner", async (t) => {
    const slow = await startReceiver(t);
    slow.respond(() => {});
    const { keys, waitFor, cursor } = await openShell(t);
    await keys(`svc router health --base-url ${slow.url}`, "Enter");
    await waitFor("Check the health of the routing service");
    await keys("C-z");
    await waitFor("Stopped");
    assert.equal(await cursor(), true);
    await keys("clear", "Enter", "fg", "Enter");
    await waitFor("Check the health of the routing service");
    await keys("C-c", "echo exit=$?", "Enter");
    await waitFor("exit=130");
  });

  it("continues after Ctrl-Z if no shell can continue it", async (t) => {
    const slow = await startReceiver(t);
    slow.respond(() => {});
    const folder = await createTestFolder(t);
    const { keys, waitFor, cursor } = await openSvcTerminal(t, ["router", "health", "--base-url", slow.url], {
      folder,
      rows: 10,
    });
    await waitFor("Check the health of the routing service");
    await keys("C-z");
    await keys("C-c");
    await waitFor("exit=130");
    assert.equal(await cursor(), true);
  });

  it("clears the spinner before the response is printed", async (t) => {
    const slow = await startReceiver(t);
    let respond = () => {};
    slow.respond((_, response) => {
      respond = () => response.writeHead(200).end('{"database":true}');
    });
    const { keys, waitFor } = await openShell(t);
    await keys(`clear; svc router health --base-url ${slow.url}; echo exit=$?`, "Enter");
    await waitFor("⠋ Check the health").catch(() => waitFor("Check the health"));
    respond();
    const screen = await waitFor("exit=0");
    assert.match(screen, /^database {2}true\nexit=0$/m);
    assert.equal(screen.includes("Check the health"), false, screen);
  });

  it("shows the awaited event and the elapsed time in wait-for only at a terminal", async (t) => {
    const { keys, waitFor } = await openShell(t);
    const line = "svc emulator wait-for --activity CONTRACT_SIGNED";
    await keys(`clear; ${line} --wait-timeout 5m; echo exit=$?`, "Enter");
    await waitFor(/^. Waiting for CONTRACT_SIGNED \(1 s\)$/m);
    await keys("C-c");
    assert.equal((await waitFor("exit=130")).includes("Waiting for"), false);
    const quiet = `${line} --wait-timeout 1s`;
    await keys(`clear; ${quiet} --quiet; ${quiet} 2>err.txt; cat err.txt; echo ended`, "Enter");
    const screen = await waitFor(/^ended$/m);
    assert.equal(screen.includes("Waiting for"), false, screen);
    assert.equal(screen.match(/Timed out after 1 s waiting for CONTRACT_SIGNED/g)?.length, 2, screen);
  });

  it("fits a narrow window", async (t) => {
    const { keys, waitFor } = await openShell(t, { columns: 36 });
    await keys("svc config set --help", "Enter");
    const help = await waitFor("Options of every command");
    assert.ok(help.split("\n").every((line) => line.length <= 36));
    await keys("clear; svc contracts templates show; echo exit=$?", "Enter");
    await waitFor("101  Mutual NDA");
    await keys("Enter");
    await waitFor("exit=0");
  });

  it("waits without an endless spinner in a window of 0 columns", async (t) => {
    const slow = await startReceiver(t);
    // The response takes longer than the delay of the spinner.
    slow.respond((_, response) => void setTimeout(() => response.writeHead(200).end('{"database":true}'), 1_000));
    const { keys, waitFor } = await openShell(t);
    await keys(`stty cols 0; svc router health --base-url ${slow.url}; echo exit=$?; stty cols 100`, "Enter");
    const screen = await waitFor("exit=0");
    assert.equal(screen.includes("Check the health"), false, screen);
  });

  it("ends on Ctrl-C in a window of 0 columns, also at a prompt", async (t) => {
    const { keys, waitFor } = await openShell(t);
    await keys("stty cols 0; svc contracts templates show; echo exit=$?; stty cols 100", "Enter");
    await waitFor("Mutual NDA");
    await keys("C-c");
    await waitFor("exit=130");
  });
});
