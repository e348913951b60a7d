import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { findBrowserCommand } from "../../../src/cli/prompt/programs.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createMovedWallClock } from "../../support/clocks/moved-wall-clock.ts";

describe("svc auth device-login with a browser", () => {
  const cases: [string, Record<string, string>, string, string[] | undefined][] = [
    ["uses xdg-open with an X display", { DISPLAY: ":0" }, "linux", ["xdg-open"]],
    ["uses xdg-open on Wayland", { WAYLAND_DISPLAY: "wayland-0" }, "linux", ["xdg-open"]],
    ["opens no browser without a display", {}, "linux", undefined],
    ["opens no browser over SSH", { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 22" }, "linux", undefined],
    ["opens no browser over SSH on macOS", { SSH_TTY: "/dev/ttys1" }, "darwin", undefined],
    ["opens no browser in CI", { CI: "true", DISPLAY: ":0" }, "linux", undefined],
    ["uses open on macOS", {}, "darwin", ["open"]],
    ["avoids the shell on Windows", {}, "win32", ["rundll32", "url.dll,FileProtocolHandler"]],
    ["uses the browser of Windows under WSL", { WSL_DISTRO_NAME: "Debian" }, "linux", ["wslview"]],
    ["uses the browser in BROWSER", { BROWSER: "firefox" }, "linux", ["firefox"]],
    ["opens no browser with BROWSER=none", { BROWSER: "none", DISPLAY: ":0" }, "linux", undefined],
  ];
  for (const [label, env, platform, command] of cases) {
    it(label, () => assert.deepEqual(findBrowserCommand({ env }, platform), command));
  }

  /**
   * Signs in at a terminal. The user presses Enter after the first poll, and the browser records its argument. The user
   * then denies the sign-in on another device: once the browser has run, or after `polls` polls without a browser.
   */
  async function signInAtTerminal(
    t: TestContext,
    polls: number,
    env: Record<string, string> = {},
    flags: readonly string[] = [],
  ) {
    const emulator = await startCliEmulator(t);
    const browser = join(emulator.cwd, "browser");
    await writeFile(
      browser,
      `#!/bin/sh\necho "$1 token=$SVC_CLIENT_SECRET" > ${emulator.cwd}/opened.new\nmv ${emulator.cwd}/opened.new ${emulator.cwd}/opened\n`,
    );
    await chmod(browser, 0o755);
    const keys = new PassThrough();
    const readOpenedUrl = () => readFile(join(emulator.cwd, "opened"), "utf8").catch(() => undefined);
    let output = "";
    const wall = createMovedWallClock(async (ms) => {
      await emulator.emulator.clock.advance({ by: ms });
      if (wall.slept.length === 1) keys.write("\n");
      // The browser is a real process, so polling continues until it has recorded its argument.
      else if (wall.slept.length > polls || (await readOpenedUrl())) {
        const [code] = /\w{4}-\w{4}/.exec(output)!;
        await emulator.emulator.control("POST", `device-grants/${code}`, { body: { status: "DENIED" } });
      } else await new Promise((resolve) => setTimeout(resolve, 20));
    });
    const argv = ["auth", "device-login", "--client-id", "demo-cli", ...flags];
    const onError = (stderr: string) => {
      output = stderr;
    };
    const options = { tty: true, stdin: keys, wall, onError, env: { BROWSER: browser, ...env } };
    const { exit, stderr } = await emulator.svc(argv, options);
    return { exit, stderr, opened: await readOpenedUrl() };
  }

  it("opens a browser when Enter is pressed, without secrets in its environment", async (t) => {
    const { stderr, opened } = await signInAtTerminal(t, 150);
    assert.match(stderr, /Press Enter to open it in your browser\.\n/);
    assert.match(String(opened), /^http:\S+\/_emulator\/device\?user_code=\w{4}-\w{4} token=\n$/);
  });

  it("offers no browser with --no-browser, --no-input or in CI", async (t) => {
    for (const [env, flags] of [
      [{}, ["--no-browser"]],
      [{}, ["--no-input"]],
      [{ CI: "1" }, []],
    ] as const) {
      const { stderr, opened } = await signInAtTerminal(t, 25, env, flags);
      assert.deepEqual([stderr.includes("Press Enter"), opened], [false, undefined]);
    }
  });

  it("continues if the browser cannot be started", async (t) => {
    const { exit, stderr } = await signInAtTerminal(t, 25, { BROWSER: "/nonexistent/browser" });
    assert.equal(exit, 4);
    assert.match(stderr, /could not be started\. Open\s+http:\S+\s+yourself\./);
  });
});
