import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";

describe("scripted faults on the command line", () => {
  it("adds, matches, lists and removes a fault", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const add = "emulator fault add --direction incoming --operation health.show --status 418 --count 1";
    assert.deepEqual(await json(add.split(" ")), {
      id: 1,
      direction: "incoming",
      operation: "health.show",
      status: 418,
      nth: 1,
      count: 1,
      chance: 1,
      seed: 1,
      matched: 0,
      hit: 0,
    });
    const { exit, stderr } = await svc(["router", "health"]);
    assert.notEqual(exit, 0);
    assert.match(stderr, /418/);
    assert.equal((await svc(["router", "health"])).exit, 0);

    const result = await svc(["emulator", "fault", "list"]);
    assert.deepEqual(result.stdout.trim().split("\n").at(-1)?.split("\t").slice(-2), ["2", "1"]);
    assert.equal((await svc(["emulator", "fault", "remove", "1"])).exit, 0);
    await svc(
      "emulator fault add --direction outgoing --effect delay --delay PT5M --webhook 3 --contract T-2 --count 4",
    );
    const { stdout } = await svc("emulator fault list --format csv");
    const [names, values] = stdout.split("\r\n").map((line) => line.split(","));
    const record = Object.fromEntries(names!.map((name, i) => [name, values![i]]).filter(([, value]) => value !== ""));
    assert.deepEqual(record, {
      id: "2",
      direction: "outgoing",
      effect: "delay",
      webhook: "3",
      contract: "2",
      delay: "PT5M",
      nth: "1",
      count: "4",
      chance: "1",
      matched: "0",
      hit: "0",
    });
    assert.equal((await svc(["emulator", "fault", "remove", "2"])).exit, 0);
    assert.deepEqual(await json(["emulator", "fault", "list"]), []);
  });

  it("rejects an invalid fault with a message", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc(["emulator", "fault", "add", "--direction", "outgoing"]);
    assert.notEqual(exit, 0);
    assert.match(stderr, /effect is required/);
  });
});
