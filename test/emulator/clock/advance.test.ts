import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { AdvanceTargetInPastError } from "../../../emulator/clock/advance.ts";
import { AdvanceUnderWayError } from "../../../emulator/clock/runner.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";

describe("clock advance", () => {
  it("runs due entries by time, then ID, each at its own time", async (t) => {
    const { add, runner, runs } = await createRunnerFixture(t);
    await add(
      [toMilliseconds(20), "late"],
      [toMilliseconds(5), "a"],
      [toMilliseconds(5), "b"],
      [toMilliseconds(21), "never"],
    );
    const { ran, ...rest } = await runner.advance({ by: toMilliseconds(20) });

    assert.deepEqual(runs, ["+5 a", "+5 b", "+20 late"]);
    assert.deepEqual(
      ran.map(({ at, ref, outcome }) => [at - initialTimeMs, ref, outcome]),
      [
        [toMilliseconds(5), "a", "done"],
        [toMilliseconds(5), "b", "done"],
        [toMilliseconds(20), "late", "done"],
      ],
    );
    assert.deepEqual(rest, {
      from: initialTimeMs,
      to: initialTimeMs + toMilliseconds(20),
      next_due: initialTimeMs + toMilliseconds(21),
      pending: 1,
      status: "done",
    });
  });

  it("runs entries that are added during the advance and due before its target", async (t) => {
    const { add, runner, runs } = await createRunnerFixture(t, {
      first: ["after 5 second", "after 30 third"],
      second: ["after 0 at once"],
    });
    await add([toMilliseconds(10), "first"]);
    await runner.advance({ by: toMilliseconds(39) });
    assert.deepEqual(runs, ["+10 first", "+15 second", "+15 at once"]);
    await runner.advance({ by: toMilliseconds(1) });
    assert.deepEqual(runs.at(-1), "+40 third");
  });

  it("stops at the next due time or when the queue is empty", async (t) => {
    const { add, runner, clock } = await createRunnerFixture(t, { a: ["after 60 c"] });
    await add([toMilliseconds(5), "a"], [toMilliseconds(7), "b"]);
    const next = await runner.advance({ next: true });
    assert.deepEqual([next.to - initialTimeMs, next.ran.length, next.pending], [toMilliseconds(5), 1, 2]);
    const idle = await runner.advance({ untilIdle: true });
    assert.deepEqual(
      [idle.to - initialTimeMs, idle.ran.length, idle.pending, idle.next_due],
      [toMilliseconds(65), 2, 0, null],
    );
    const nothing = await runner.advance({ next: true });
    assert.deepEqual([nothing.from, nothing.to, nothing.ran], [clock.now(), clock.now(), []]);
  });

  it("rejects a past time and a concurrent advance", async (t) => {
    const { add, runner, clock } = await createRunnerFixture(t);
    await assert.rejects(runner.advance({ to: initialTimeMs }), AdvanceTargetInPastError);
    await assert.rejects(runner.advance({ by: -1 }), AdvanceTargetInPastError);
    assert.equal(clock.now(), initialTimeMs);

    await add([toMilliseconds(1), "a"]);
    const first = runner.advance({ by: toMilliseconds(2) });
    await assert.rejects(runner.advance({ by: toMilliseconds(3) }), {
      name: "AdvanceUnderWayError",
      message: "The clock is already being advanced. Wait until that advance has finished",
    });
    await assert.rejects(runner.setClock({ mode: "auto" }), AdvanceUnderWayError);
    assert.equal((await first).to, initialTimeMs + toMilliseconds(2));
    assert.equal((await runner.advance({ by: toMilliseconds(1) })).to, initialTimeMs + toMilliseconds(3));
  });

  it("stops at its limit and continues with the next call", async (t) => {
    const { add, runner, runs } = await createRunnerFixture(t, {}, { limits: { entries: 3 } });
    await add(...[1, 2, 2, 3, 4].map((at) => [toMilliseconds(at), `at ${at}`] as const));
    const first = await runner.advance({ by: toMilliseconds(10) });
    assert.deepEqual(
      { to: first.to, status: first.status, reason: first.reason, ran: first.ran.length, next_due: first.next_due },
      {
        to: initialTimeMs + toMilliseconds(2),
        status: "stopped",
        reason: "too_many_entries",
        ran: 3,
        next_due: initialTimeMs + toMilliseconds(3),
      },
    );
    await runner.advance({ to: initialTimeMs + toMilliseconds(10) });
    assert.deepEqual(runs, ["+1 at 1", "+2 at 2", "+2 at 2", "+3 at 3", "+4 at 4"]);
  });

  it("skips an entry whose handler throws and continues with the others", async (t) => {
    const { add, runner, runs, failures } = await createRunnerFixture(t, { bad: ["throw"] });
    await add([toMilliseconds(1), "bad"], [toMilliseconds(1), "good"]);
    const { ran, pending } = await runner.advance({ by: toMilliseconds(2) });
    assert.deepEqual(
      ran.map(({ ref, outcome }) => [ref, outcome]),
      [
        ["bad", "error"],
        ["good", "done"],
      ],
    );
    assert.deepEqual([runs, failures, pending], [["+1 bad", "+1 good"], ["bad"], 1]);
  });

  it("produces the same trace in one step or two, equal to a simple model", async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.integer({ min: 1, max: 9 }), async (plan, pause) => {
        const fullTrace = await traceOf(plan, [10]);
        assert.deepEqual(fullTrace, simulateAdvance(plan, 10));
        assert.deepEqual(await traceOf(plan, [pause, 10]), fullTrace);
      }),
      { numRuns: 60 },
    );
  });
});

/** Entries with their minutes, and the entries that each adds when it runs: `[minutes later, name]`. */
interface Plan {
  readonly entries: readonly (readonly [at: number, name: string])[];
  readonly adds: Readonly<Record<string, readonly (readonly [after: number, name: string])[]>>;
}

// Later names in the alphabet only, so that every plan ends. There are few minutes, so that many entries share one.
const names = ["a", "b", "c", "d", "e"] as const;
const plans: fc.Arbitrary<Plan> = fc.record({
  entries: fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom(...names)), { maxLength: 8 }),
  adds: fc.record(
    Object.fromEntries(
      names.map((_, i) => [
        names[i],
        i === names.length - 1
          ? fc.constant([])
          : fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom(...names.slice(i + 1))), {
              maxLength: 2,
            }),
      ]),
    ),
  ),
});

async function traceOf({ entries, adds }: Plan, stops: readonly number[]): Promise<readonly string[]> {
  const ends: (() => unknown)[] = [];
  const script = Object.fromEntries(
    Object.entries(adds).map(([name, added]) => [name, added.map(([after, entry]) => `after ${after} ${entry}`)]),
  );
  const { add, runner, runs } = await createRunnerFixture(
    { after: (end) => void ends.push(end as () => unknown) },
    script,
    { deterministic: true },
  );
  await add(...entries.map(([at, name]) => [toMilliseconds(at), name] as const));
  for (const stop of stops) await runner.advance({ to: initialTimeMs + toMilliseconds(stop) });
  for (const end of ends) await end();
  return runs;
}

/** The definition, over a plain list. */
function simulateAdvance({ entries, adds }: Plan, end: number): string[] {
  let id = 0;
  const queue = entries.map(([due, name]) => ({ due, id: id++, name }));
  const steps: string[] = [];
  for (;;) {
    queue.sort((a, b) => a.due - b.due || a.id - b.id);
    const next = queue[0];
    if (!next || next.due > end) return steps;
    queue.shift();
    steps.push(`+${next.due} ${next.name}`);
    for (const [after, name] of adds[next.name] ?? []) queue.push({ due: next.due + after, id: id++, name });
  }
}
