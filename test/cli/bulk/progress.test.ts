import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";

const run = "router map-clients rows.txt --batch-size 100 --concurrency 1 --cluster eu-1";

/** A wall clock that advances with every request. */
function createPassingTime(msPerCall: number) {
  let now = Date.parse("2031-01-02T03:04:05Z");
  const wall = { now: () => now, monotonicNow: () => now, sleep: async () => {} };
  const script = () => {
    now += msPerCall;
    return undefined;
  };
  return { wall, script };
}

/** Drops the first line, which contains the job ID. */
const omitJobIdLine = (stderr: string) => stderr.split("\n").slice(1).join("\n");

describe("progress of a bulk job", () => {
  it("rewrites one line on a terminal and clears it at the end", async (t) => {
    const { wall, script } = createPassingTime(1_000);
    const { svc } = await createBulkFixture(t, createNumberedIds(400), script);
    const { stderr } = await svc(run, { wall, tty: true });
    const lines = omitJobIdLine(stderr).split("\r\x1b[K");
    assert.deepEqual(lines.slice(1), [
      "mapped 100/400 · 25% · 100 rows/s · ETA 3 s",
      "mapped 200/400 · 50% · 100 rows/s · ETA 2 s",
      "mapped 300/400 · 75% · 100 rows/s · ETA 1 s",
      "mapped 400/400 · 100% · 100 rows/s · ETA 0 s",
      "",
    ]);
  });

  it("clears its line before the message on Ctrl-C", async (t) => {
    const { wall, script } = createPassingTime(1_000);
    let interrupt = () => {};
    const { svc } = await createBulkFixture(t, createNumberedIds(400), (call) => {
      if (call.number === 3) interrupt();
      return script();
    });
    const { exit, stderr } = await svc(run, {
      wall,
      tty: true,
      onStart: ({ signal }) => {
        interrupt = () => signal("SIGINT");
      },
    });
    assert.equal(exit, 130);
    const lines = omitJobIdLine(stderr)
      .replaceAll(/job_\w+/g, "JOB")
      .split("\r\x1b[K");
    assert.deepEqual(lines.slice(1), [
      "mapped 100/400 · 25% · 100 rows/s · ETA 3 s",
      "mapped 200/400 · 50% · 100 rows/s · ETA 2 s",
      "Stopping after the batch in flight; press Ctrl-C again to stop now\nJOB stopped. Resume it with: svc router jobs resume JOB\n",
    ]);
  });

  it("prints a plain line every ten seconds without a terminal", async (t) => {
    const { wall, script } = createPassingTime(4_000);
    const { svc } = await createBulkFixture(t, createNumberedIds(700), script);
    const { stderr } = await svc(run, { wall, env: { CI: "true" }, tty: true });
    assert.equal(
      omitJobIdLine(stderr),
      "mapped 300/700 · 42% · 25 rows/s · ETA 16 s\nmapped 600/700 · 85% · 25 rows/s · ETA 4 s\n",
    );
  });

  it("shows no percentage for a pipe", async (t) => {
    const { wall, script } = createPassingTime(12_000);
    const { svc } = await createBulkFixture(t, [], script);
    const stdin = createNumberedIds(100).join("\n");
    const { stderr } = await svc(run.replace("rows.txt", "-"), { wall, stdin });
    assert.equal(omitJobIdLine(stderr), "mapped 100 · 8 rows/s\n");
  });

  it("prints NDJSON to standard error with --format ndjson", async (t) => {
    const { wall, script } = createPassingTime(12_000);
    const { svc } = await createBulkFixture(t, createNumberedIds(200), script);
    const { stdout, stderr } = await svc(`${run} --format ndjson`, { wall });
    const events = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const id = events[1].id;
    assert.deepEqual(events, [
      { type: "version", ui: "1.0" },
      { type: "job", id, command: "map-clients", total: 200, done: 0 },
      { type: "progress", rows: 100, total: 200, rows_per_second: 8, retries: 0 },
      { type: "progress", rows: 200, total: 200, rows_per_second: 8, retries: 0 },
    ]);
    assert.deepEqual(JSON.parse(stdout).job_id, id);
  });

  it("appears with --json but not with --quiet", async (t) => {
    const { wall, script } = createPassingTime(12_000);
    const { svc } = await createBulkFixture(t, createNumberedIds(200), script);
    const { stdout, stderr } = await svc(`${run} --json`, { wall });
    assert.deepEqual(
      [JSON.parse(stdout).rows, stderr.split("\n").slice(1)],
      [200, ["mapped 100/200 · 50% · 8 rows/s · ETA 12 s", "mapped 200/200 · 100% · 8 rows/s · ETA 0 s", ""]],
    );
    assert.equal((await svc(`${run} --json --quiet`, { wall })).stderr, "");
  });
});
