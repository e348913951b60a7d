import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { hasProgram, openSvcTerminal, waitUntilFileGone } from "../../support/cli/terminal.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { findFreePort } from "../../support/free-port.ts";
import { startReceiver } from "../../support/receiver.ts";

const skip = hasProgram("tmux") ? false : "tmux is not installed";

/** A session at a terminal of that width that forwards to a receiver. */
async function startDevSession(
  t: TestContext,
  columns: number,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  const folder = await createTestFolder(t);
  const app = await startReceiver(t);
  const argv = ["dev", "--port", "0", "--forward-to", app.url, "--activities", "CONTRACT_CREATED", ...flags];
  const terminal = await openSvcTerminal(t, argv, { folder, columns, env: { SVC_CONFIG_DIR: folder, ...env } });
  await terminal.waitFor("all keys");
  return { ...terminal, app, folder };
}

describe("svc dev at a terminal", { skip }, () => {
  for (const columns of [40, 80, 200]) {
    it(`creates, signs, resends, fails, advances and diagnoses by keys in ${columns} columns`, async (t) => {
      const { keys, waitFor, readOutput, folder } = await startDevSession(t, columns);
      await keys("c");
      await waitFor("Created T-1.");
      await waitFor(/verified\s+200 in/);
      await keys("s");
      await waitFor("T-1 is EXECUTED.");
      await keys("r");
      await waitFor("svc emulator deliveries resend 1");
      await keys("f");
      await waitFor(/The next three attempts will not\s+arrive\./);
      await keys("c");
      await waitFor("Created T-2.");
      await keys("n");
      await waitFor(/svc emulator clock advance\s+--next/);
      await keys("w");
      // The output is longer than a small window.
      await waitFor(/Next attempt/);
      const screen = await keys("?").then(() => waitFor(/q {2}quit\n/));
      const status = screen.trimEnd().split("\n").at(-1)!;
      assert.match(status, /^virtual \d\d:\d\d:\d\d( \||$)/, screen);
      assert.ok(status.length < columns, screen);
      await keys("q");
      const end = await waitFor("done");
      assert.match(end, /exit=0/);
      assert.equal(end.includes("modes changed"), false, end);
      const output = await readOutput();
      assert.equal(output.includes("undefined"), false);
      // A line break would end a command that users paste.
      assert.ok(output.includes("svc contracts create --contract-template-id 101 --set 'contract_data={}' --set "));
      assert.equal(existsSync(join(folder, ".svc/emulator.json.run")), false);
    });
  }

  it("diagnoses webhooks while the app is down", async (t) => {
    const folder = await createTestFolder(t);
    const argv = ["dev", "--port", "0", "--forward-to", String(await findFreePort())];
    const { keys, waitFor } = await openSvcTerminal(t, argv, { folder, columns: 120, env: { SVC_CONFIG_DIR: folder } });
    await waitFor("webhooks fail until your app runs there");
    await keys("c");
    await waitFor("Created T-1.");
    await keys("w");
    await waitFor(/refuses connections\. Start your app there\.[^$]*\$ svc webhooks why\n[\s\S]*Next attempt/);
    await keys("q");
    await waitFor("exit=0");
  });

  it("ends while the app does not respond", async (t) => {
    const { keys, waitFor, app } = await startDevSession(t, 120);
    const arrived = new Promise<void>((resolve) => app.respond(() => resolve()));
    await keys("c");
    await arrived;
    await keys("q");
    const end = await waitFor("exit=0");
    assert.equal(end.includes("no response"), false, end);
  });

  it("opens the console with a key", async (t) => {
    const folder = await createTestFolder(t);
    const browser = join(folder, "browser");
    await writeFile(browser, `#!/bin/sh\necho "$1" > "${folder}/opened"\n`, { mode: 0o755 });
    const { keys, waitFor } = await startDevSession(t, 120, [], { BROWSER: browser, CI: "", SSH_CONNECTION: "" });
    await keys("o");
    const output = await waitFor(/Opened http:\S+ in the browser/);
    assert.match(output, /\$ svc emulator open\n/);
    const openedUrl = await readFile(join(folder, "opened"), "utf8");
    const page = /Opened (\S+) in/.exec(output)![1];
    assert.deepEqual(openedUrl.replace(/=[\w-]+\n$/, "=…"), `${page}#code=…`);
    await keys("q");
    await waitFor("exit=0");
  });

  it("fits its status line to a window that becomes narrower and wider", async (t) => {
    const { keys, waitFor, resize } = await startDevSession(t, 120);
    await waitFor(/virtual date \d{4}-\d\d-\d\d/);
    await resize(40);
    await keys("?");
    const narrow = await waitFor(/q {2}quit\nvirtual \d\d:\d\d:\d\d/);
    assert.ok(narrow.trimEnd().split("\n").at(-1)!.length < 40, narrow);
    await resize(120);
    await waitFor(/virtual date \d{4}-\d\d-\d\d/);
    await keys("q");
    await waitFor("exit=0");
  });

  it("reads keys with Caps Lock", async (t) => {
    const { keys, waitFor } = await startDevSession(t, 80);
    await keys("C");
    await waitFor("Created T-1.");
    await keys("Q");
    await waitFor("exit=0");
  });

  it("ends with its terminal and removes its webhook", async (t) => {
    const { close, folder } = await startDevSession(t, 80);
    await close();
    await waitUntilFileGone(join(folder, ".svc/emulator.json.run"));
    const { control } = await startTestEmulator(t, { file: join(folder, ".svc/emulator.json") });
    assert.deepEqual((await control("GET", "webhooks")).body, []);
  });

  it("exits with 130 on Ctrl-C and restores the terminal", async (t) => {
    const { keys, waitFor, cursor, folder } = await startDevSession(t, 80);
    await keys("C-c");
    const end = await waitFor("done");
    assert.match(end, /exit=130/);
    assert.equal(/modes changed|error:/.test(end), false, end);
    assert.equal(await cursor(), true);
    assert.equal(existsSync(join(folder, ".svc/emulator.json.run")), false);
  });
});
