import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";

const skip = process.platform === "linux" ? false : "its limit is set by a program of Linux";

describe("emulator without free file descriptors", () => {
  it("reports the shortage with a hint and prints no Node warnings", { skip }, async (t) => {
    const cwd = await createTestFolder(t);
    const argv = ["emulator", "start", "--port", "0", "--ready-file", "ready"];
    const emulator = await startSvcProcess(t, argv, { cwd, within: ["prlimit", "--nofile=64"] });
    await emulator.saw("Ctrl-C to stop it");
    const { router_url } = JSON.parse(await readFile(join(cwd, "ready"), "utf8")) as { router_url: string };
    const { hostname, port } = new URL(router_url);
    for (let i = 0; i < 80; i += 1) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      t.after(() => socket.destroy());
      await Promise.race([once(socket, "connect"), once(socket, "close")]);
    }
    await emulator.saw("too many files and connections are open (EMFILE). New requests get no response.");
    await emulator.saw("Raise the limit (ulimit -n), or close other programs.");
  });

  it("remains an emulator of this user if it cannot start", { skip }, async (t) => {
    const cwd = await createTestFolder(t);
    const run = async (...within: string[]) => {
      const svc = await startSvcProcess(t, ["emulator", "webhooks", "--emulator", "--json"], { cwd, within });
      const [exit] = await once(svc.child, "close");
      return { exit, stdout: svc.stdout(), stderr: svc.stderr() };
    };
    const first = await run();
    assert.equal(first.exit, 0, first.stderr);
    const messages = new Set<string>();
    // How many files Node opens itself depends on its version.
    for (let limit = 23; limit > 17; limit -= 1) {
      const { stderr } = await run("prlimit", `--nofile=${limit}`);
      messages.add(/EMFILE/.exec(stderr)?.[0] ?? "");
    }
    assert.ok(messages.has("EMFILE"));
    assert.deepEqual(await run(), first);
  });
});
