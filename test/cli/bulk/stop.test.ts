import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";
import type { RunOptions } from "../../support/cli/run-cli.ts";

const command = "router map-clients rows.txt --batch-size 1 --concurrency 2 --cluster eu-1";

/** A promise with a function that resolves it. */
function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Captures the function that sends signals to a run. */
function createSignalSender() {
  let send: (name: "SIGINT" | "SIGTERM") => void = () => {};
  const onStart: RunOptions["onStart"] = ({ signal }) => {
    send = signal;
  };
  return { onStart, send: (name: "SIGINT" | "SIGTERM") => send(name) };
}

describe("stopped bulk job", () => {
  it("ends requests in flight on Ctrl-C, prints how to continue and exits with 130", async (t) => {
    const gate = createGate();
    const keys = createSignalSender();
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(9), async ({ number }) => {
      if (number === 2) {
        keys.send("SIGINT");
        gate.open();
      }
      await gate.opened;
      return undefined;
    });
    const { exit, stderr } = await svc(command, { onStart: keys.onStart });
    assert.equal(exit, 130);
    assert.match(
      stderr,
      /Stopping after at most 2 batches in flight; press Ctrl-C again to stop now\njob_\w+ stopped\. Resume it with: svc router jobs resume job_/,
    );
    assert.deepEqual(listRequests().length, 2);
    const job = JSON.parse((await svc("router jobs show --last --json")).stdout);
    assert.deepEqual([job.status, job.rows, job.total], ["interrupted", 2, 9]);

    const { exit: end, stdout } = await svc("router jobs resume --last");
    assert.deepEqual([end, stdout], [0, "Mapped 9 client IDs to eu-1\n"]);
    assert.deepEqual(listRequests().flat().sort(), createNumberedIds(9));
  });

  it("prints how to continue at a second Ctrl-C", async (t) => {
    const keys = createSignalSender();
    const hint = /^job_\w+ stopped\. Resume it with: svc router jobs resume job_\w+$/gm;
    let stderr = "";
    const { svc } = await createBulkFixture(t, createNumberedIds(2), async () => {
      keys.send("SIGINT");
      assert.throws(() => keys.send("SIGINT"), /SIGINT forces the end/);
      await setImmediate();
      assert.equal(stderr.match(hint)?.length, 1, stderr);
      return undefined;
    });
    const onError = (text: string) => {
      stderr = text;
    };
    const line = "router map-clients rows.txt --batch-size 1 --concurrency 1 --cluster eu-1";
    const result = await svc(line, { onStart: keys.onStart, onError });
    assert.equal(result.exit, 130);
  });

  it("finishes on Ctrl-C if no row is left to send", async (t) => {
    const keys = createSignalSender();
    const { svc } = await createBulkFixture(t, createNumberedIds(2), async ({ number }) => {
      if (number === 2) keys.send("SIGINT");
      return undefined;
    });
    const line = "router map-clients rows.txt --batch-size 1 --concurrency 1 --cluster eu-1";
    const { exit, stdout, stderr } = await svc(line, { onStart: keys.onStart });
    assert.deepEqual([exit, stdout], [0, "Mapped 2 client IDs to eu-1\n"], stderr);
    assert.equal(JSON.parse((await svc("router jobs show --last --json")).stdout).status, "done");
  });

  it("aborts slow requests at SIGTERM and sends them again after a resume", async (t) => {
    const never = new Promise<undefined>(() => {});
    const keys = createSignalSender();
    const sleeps: number[] = [];
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(3), ({ number }) => {
      if (number === 2) keys.send("SIGTERM");
      return number < 3 ? never : undefined;
    });
    // The grace period ends at once.
    const wall = { now: () => 0, monotonicNow: () => 0, sleep: async (ms: number) => void sleeps.push(ms) };
    const { exit } = await svc(command, { onStart: keys.onStart, wall });
    assert.equal(exit, 143);
    assert.ok(sleeps.includes(700));
    assert.equal((await svc("router jobs resume --last")).exit, 0);
    assert.deepEqual(listRequests().flat().sort(), ["c0", "c0", "c1", "c1", "c2"]);
  });

  it("ends a wait for a retry", async (t) => {
    const keys = createSignalSender();
    const { svc } = await createBulkFixture(t, createNumberedIds(1), () => ({
      status: 429,
      headers: { "retry-after": "50" },
    }));
    const slept: (AbortSignal | undefined)[] = [];
    const wall = {
      now: () => 0,
      monotonicNow: () => 0,
      async sleep(ms: number, signal?: AbortSignal) {
        if (ms < 50_000) return;
        slept.push(signal);
        keys.send("SIGINT");
        if (!signal?.aborted) await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      },
    };
    const { exit } = await svc(command, { onStart: keys.onStart, wall });
    assert.deepEqual([exit, slept.length], [130, 1]);
  });
});
