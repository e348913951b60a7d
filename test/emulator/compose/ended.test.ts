import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { collectProcessWarnings } from "../../support/process-warnings.ts";
import { getBundleFolder } from "../../support/shipped.ts";

/**
 * Each use has its own emulator, which is closed at its end. The result lists the timers that still keep the process
 * running.
 */
const program = `
const { startEmulator } = await import(process.argv[1]);
const file = process.argv[2];

const used = {
  nothing: async () => {},
  snapshot: (emulator) => emulator.snapshot(),
  restore: async (emulator) => emulator.restore(await emulator.snapshot()),
  "refused restore": async (emulator) => {
    const { name } = await emulator.snapshot();
    await emulator.restore(name + "-gone").catch(() => {});
  },
  diff: async (emulator) => {
    await emulator.snapshot("drafted");
    await asked(emulator, "GET", "snapshots/drafted/diff");
    await asked(emulator, "GET", "snapshots/drafted");
  },
  fork: async (emulator) => (await emulator.fork()).close(),
  reset: (emulator) => asked(emulator, "POST", "reset"),
  import: async (emulator) => asked(emulator, "PUT", "state", await asked(emulator, "GET", "state")),
  rewind: async (emulator) => {
    await asked(emulator, "POST", "workspaces", '{"name":"Acme"}');
    await emulator.rewind({ steps: 1 });
  },
  "start from a file": async () => {},
  "move of time, watched": async (emulator) => {
    const end = emulator.watch(() => {});
    await emulator.clock.advance({ by: "PT1H" });
    await end();
  },
};
const options = { rewind: { file }, "start from a file": { from: file, file: file + ".copy" } };

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
const left = {};
for (const [name, use] of Object.entries(used)) {
  const before = timers();
  const emulator = await startEmulator({ clock: { mode: "manual" }, ...options[name] });
  await use(emulator);
  await emulator.close();
  left[name] = timers() - before;
}
console.log(JSON.stringify(left));

async function asked({ controlUrl, token }, method, path, body) {
  const headers = { authorization: "Bearer " + token, "content-type": "application/json", connection: "close" };
  const answer = await fetch(controlUrl + "/" + path, { method, headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(method + " " + path + ": " + text);
  return text;
}
`;

describe("process with closed emulators", () => {
  it("leaves no timer that prevents the process from exiting", async (t) => {
    const argv = [join(getBundleFolder(), "emulator.js"), join(await createTestFolder(t), "state.json")];
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, ...argv]);
    const uses = ["nothing", "snapshot", "restore", "refused restore", "diff", "fork", "reset", "import", "rewind"];
    const all = [...uses, "start from a file", "move of time, watched"];
    assert.deepEqual(JSON.parse(stdout), Object.fromEntries(all.map((use) => [use, 0])));
  });
});

describe("emulator.close()", () => {
  it("does not wait for unresponsive receivers or requests that wait for them", { timeout: 20_000 }, async (t) => {
    const { api, control, close } = await startTestEmulator(t);
    const receiver = createServer();
    const deliveryRequested = once(receiver, "request");
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    t.after(() => {
      receiver.closeAllConnections();
      receiver.close();
    });
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    await api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "app", url, only_for_activities: ["CONTRACT_CREATED"] },
    });
    const waiting = control("POST", "activities", { body: { activity: "CONTRACT_CREATED", wait: true } }).catch(
      () => {},
    );
    const [, response] = (await deliveryRequested) as [unknown, ServerResponse];
    // An attempt lasts a minute, so a close that waited for it would exceed the timeout of this test.
    await close();
    assert.equal(response.writableEnded, false, "the receiver has not responded");
    await waiting;
  });

  it("closes a dozen emulators with one signal without a leak warning", async (t) => {
    const listWarnings = collectProcessWarnings(t);
    const { signal } = new AbortController();
    const emulators = await Promise.all(Array.from({ length: 12 }, () => startTestEmulator(t)));
    await Promise.all(emulators.map((emulator) => emulator.close({ signal })));
    assert.deepEqual([await listWarnings(), getEventListeners(signal, "abort").length], [[], 0]);
  });
});
