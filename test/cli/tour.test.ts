import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openReceiver } from "../../src/cli/connection/receiver.ts";
import { runTour } from "../../src/cli/tour/tour.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("svc tour", () => {
  it("walks the journey, shows the retries of a dead receiver, and ends with a verdict", async () => {
    const { exit, out, err } = await runCli("tour");
    assert.deepEqual([exit, err], [0, ""]);
    assert.match(out, /\$ svc contracts create --data contract.json/);
    const attempts = [...out.matchAll(/^ +(\d) {2,}\S+Z +\+(\d+) min +(status \d+)$/gm)].map(([, ...row]) => row);
    assert.deepEqual(attempts, [
      ["1", "0", "status 500"],
      ["2", "5", "status 500"],
      ["3", "15", "status 500"],
      ["4", "35", "status 500"],
      ["5", "75", "status 500"],
      ["6", "155", "status 500"],
    ]);
    const steps = out
      .split("Attempts to reach")[0]!
      .split(/^\d+\. /m)
      .slice(1);
    const silent = steps.filter((step) => step.trimEnd().split("\n").length < 3);
    assert.deepEqual([steps.length, silent], [15, []]);
    assert.match(out.trimEnd().split("\n").at(-1)!, /^Tour complete: 15 commands/);
  });

  it("gives the same as data", async () => {
    const { exit, out, err } = await runCli("tour --json");
    const { ok, problem, steps, timeline } = JSON.parse(out);
    assert.deepEqual([exit, err, ok, problem], [0, "", true, null]);
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

  it("stops at the first step that does not do what it should", async (t) => {
    const healthy = await openReceiver();
    t.after(() => healthy.close());
    const walked = await runTour({
      svc: async ([group]) =>
        group === "files" ? { exit: 0, out: '[{"file_id":"f"}]', err: "" } : { exit: 1, out: "", err: "error: no\n" },
      healthy,
      dead: healthy,
      onStep: async () => {},
    });
    assert.deepEqual(
      [walked.steps.map(({ title, problem }) => [title, problem]), walked.problem],
      [
        [
          ["Upload a file", undefined],
          ["Request a legal review", "exit 1: error: no"],
        ],
        "Request a legal review: exit 1: error: no",
      ],
    );
  });
});
