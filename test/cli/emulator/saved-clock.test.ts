import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

/** The line about time in the output of `svc emulator start`, which is stopped once ready. */
async function readTimeLine(cwd: string, flags: string): Promise<string | undefined> {
  let stop = () => {};
  const { stdout } = await runCli(`emulator start --port 0 --no-color ${flags}`, {
    cwd,
    onStart: ({ signal }) => {
      stop = () => signal("SIGTERM");
    },
    onOutput: (text) => {
      if (text.includes("Press Ctrl-C to stop it.")) stop();
    },
  });
  return /^ {2}time {6}(.*)$/m.exec(stdout)?.[1]?.replace(/:05\.\d+Z/, ":05Z");
}

describe("svc emulator start with a saved clock", () => {
  it("reports the time and the clock mode and how to change both", async (t) => {
    const cwd = await createTestFolder(t);
    const realTime = "for real time: svc emulator clock set --mode real --speed 1";
    const manual = `2031-01-02T03:04:05Z, paused (to advance it: svc emulator clock advance; ${realTime})`;
    assert.equal(await readTimeLine(cwd, "--clock manual --clock-start 2031-01-02T03:04:05Z"), manual);
    assert.equal(await readTimeLine(cwd, ""), manual);
    const fast = /^2031-01-02T03:0[\d:.]+Z, 60 times as fast as real time \(for real time: /;
    assert.match(String(await readTimeLine(cwd, "--clock real --clock-speed 60")), fast);
    assert.match(String(await readTimeLine(cwd, "")), fast);
    assert.match(String(await readTimeLine(cwd, "--clock-speed 1")), /^2031-01-02T03:[\d:.]+Z, real time$/);
  });
});
