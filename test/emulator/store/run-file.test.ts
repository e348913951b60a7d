import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { claimRunFile, type RunFile } from "../../../emulator/store/run-file.ts";
import { temporaryFolder } from "../../support/store.ts";

const run = (instance: string, pid = process.pid): RunFile => ({
  pid,
  instance_id: instance,
  router_url: "http://127.0.0.1:4010",
  control_url: "http://127.0.0.1:4010/_emulator",
  clusters: [{ id: "eu-1", url: "http://127.0.0.1:4011" }],
  token: "secret-token",
});

const answers = (instance: string | undefined) => async () => instance;
/** A pid that was one and is none any more. */
const gonePid = (): number => spawnSync(process.execPath, ["--version"]).pid;

describe("the run file", () => {
  it("tells who runs, is for the owner's eyes alone, and goes with its emulator", async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, ".svc", "emulator.json.run");
    const claim = await claimRunFile({ path, run: run("one"), probe: answers(undefined) });
    assert.deepEqual(JSON.parse(await readFile(path, "utf8")), run("one"));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await claim.release();
    assert.deepEqual(await readdir(join(folder, ".svc")), []);
  });

  it("refuses a second emulator, names the first, and never tells its token", async (t) => {
    const path = join(await temporaryFolder(t), "emulator.json.run");
    await claimRunFile({ path, run: run("one"), probe: answers(undefined) });
    const second = claimRunFile({ path, run: run("two"), probe: answers("one") });
    await assert.rejects(second, (error: Error) => {
      assert.equal(error.name, "StateInUse");
      assert.match(error.message, /pid \d+, http:\/\/127\.0\.0\.1:4010.*svc emulator stop/);
      assert.doesNotMatch(error.message, /secret-token/);
      return true;
    });
    assert.equal(JSON.parse(await readFile(path, "utf8")).instance_id, "one");
  });

  it("refuses when the first does not answer in time: it may be busy", async (t) => {
    const path = join(await temporaryFolder(t), "emulator.json.run");
    await claimRunFile({ path, run: run("one"), probe: answers(undefined) });
    const second = claimRunFile({ path, run: run("two"), probe: () => Promise.reject(new Error("timeout")) });
    await assert.rejects(second, { name: "StateInUse", message: /It does not answer/ });
  });

  const stale: [what: string, left: () => string, answer: string | undefined][] = [
    ["its process is gone, whoever answers there now", () => JSON.stringify(run("one", gonePid())), "one"],
    ["its URL refuses the connection", () => JSON.stringify(run("one")), undefined],
    ["its URL is another emulator's by now", () => JSON.stringify(run("one")), "three"],
    ["nobody can read it", () => "{", undefined],
  ];
  for (const [why, left, answer] of stale) {
    it(`is taken over when ${why}`, async (t) => {
      const folder = await temporaryFolder(t);
      const path = join(folder, "emulator.json.run");
      await writeFile(path, left());
      await claimRunFile({ path, run: run("two"), probe: answers(answer) });
      assert.equal(JSON.parse(await readFile(path, "utf8")).instance_id, "two");
      assert.deepEqual(await readdir(folder), ["emulator.json.run"]);
    });
  }

  it("goes to exactly one of many that start at once over a stale one", async (t) => {
    const path = join(await temporaryFolder(t), "emulator.json.run");
    await writeFile(path, JSON.stringify(run("old", gonePid())));
    // Each has bound its own port before it claims, and answers there with its own id.
    const starting = Array.from({ length: 8 }, (_, i) => ({ ...run(`new-${i}`), router_url: `http://new-${i}` }));
    const probe = async (url: string) => url.replace("http://", "");
    const settled = await Promise.allSettled(starting.map((each) => claimRunFile({ path, run: each, probe })));
    assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
  });

  it("can be taken over after a crash in the middle of a take-over", async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, "emulator.json.run");
    await writeFile(path, JSON.stringify(run("old", gonePid())));
    await writeFile(`${path}.takeover`, JSON.stringify(run("crashed", gonePid())));
    await claimRunFile({ path, run: run("two"), probe: answers(undefined) });
    assert.equal(JSON.parse(await readFile(path, "utf8")).instance_id, "two");
    assert.deepEqual(await readdir(folder), ["emulator.json.run"]);
  });

  it("is left alone by a release when it is another's", async (t) => {
    const path = join(await temporaryFolder(t), "emulator.json.run");
    const first = await claimRunFile({ path, run: run("one"), probe: answers(undefined) });
    await claimRunFile({ path, run: run("two"), probe: answers(undefined) });
    await first.release();
    assert.equal(JSON.parse(await readFile(path, "utf8")).instance_id, "two");
  });
});
