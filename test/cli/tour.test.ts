import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../structure/repository.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { runStory } from "./run/story.ts";

describe("svc tour", () => {
  it("runs the journey, shows the retries of a dead receiver and ends with a summary", async () => {
    const { exit, stdout, stderr } = await runCli("tour");
    assert.deepEqual([exit, stderr], [0, ""]);
    assert.match(stdout, /\$ svc contracts create --data contract.json/);
    const attempts = [...stdout.matchAll(/^ +(\d) {2,}\S+Z +\+(\d+) min +(status \d+)$/gm)].map(([, ...row]) => row);
    assert.deepEqual(attempts, [
      ["1", "0", "status 500"],
      ["2", "5", "status 500"],
      ["3", "15", "status 500"],
      ["4", "35", "status 500"],
      ["5", "75", "status 500"],
      ["6", "155", "status 500"],
    ]);
    const steps = stdout
      .split("Attempts to reach")[0]!
      .split(/^\d+\. /m)
      .slice(1);
    const silent = steps.filter((step) => step.trimEnd().split("\n").length < 3);
    assert.deepEqual([steps.length, silent], [15, []]);
    assert.match(stdout.trimEnd().split("\n").at(-1)!, /^Tour complete: 15 commands/);
  });

  it("prints the same results as data", async () => {
    const { exit, stdout, stderr } = await runCli("tour --json");
    const { ok, problem, steps, timeline } = JSON.parse(stdout);
    assert.deepEqual([exit, stderr, ok, problem], [0, "", true, null]);
    assert.deepEqual([steps.length, steps.every((step: { exit: number }) => step.exit === 0)], [15, true]);
    assert.deepEqual(
      steps.filter(({ output }: { output: string }) => output.includes("\t")),
      [],
    );
    assert.deepEqual(
      timeline.map(({ minutes }: { minutes: number }) => minutes),
      [0, 5, 15, 35, 75, 155],
    );
  });

  it("is a scenario that stops at the first failing step", async (t) => {
    const tour = readFileSync(join(root, "fixtures/scenarios/tour.yaml"), "utf8");
    const { exit, stdout } = await runStory(t, tour.replace("status: ACTIVE", "status: DELETED"));
    assert.equal(exit, 1);
    assert.match(
      stdout,
      /failed {3}4 {2}Subscribe a receiver on this machine\n +json\.status: expected "DELETED", got "ACTIVE" .*\n {2}13 steps were not run\n/,
    );
  });
});
