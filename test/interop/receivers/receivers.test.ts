import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getReceiverCommand, receivers } from "./built.ts";
import { certifyReceiver } from "./certified.ts";

/** The receiver in which each mistake is planted. test/cli/webhooks plants those that depend on no framework. */
const plantedMistakes: Readonly<Record<string, keyof typeof receivers>> = Object.freeze({
  "reserialized-json": "go",
  "decoded-text": "express",
  "partial-body": "go",
  "body-limit": "express",
  "answered-before-stored": "go",
  "slow-work": "express",
  "no-dedupe": "express",
  "duplicate-refused": "go",
  "stale-overwrite": "java",
});
/** Receivers of frameworks without a documented receiver: see documented.test.ts for the others. */
const correctReceivers = ["express", "fastify", "fastapi"] as const;
/** Prints what a receiver has stored, and a line for each event. */
const countingProbe = `tr '\\n' ' ' < "$STORE"; seq "$(grep -oE '^[0-9]+$|"events": ?[0-9]+' "$STORE" | grep -oE '[0-9]+')"`;

describe("svc webhooks certify with framework receivers", () => {
  for (const name of correctReceivers) {
    const receiver = receivers[name];
    it(`reports no problem for ${name}`, { skip: receiver.missing }, async (t) => {
      const begin = performance.now();
      const { exit, report, mistakes } = await certifyReceiver(t, getReceiverCommand(receiver), {
        probe: countingProbe,
      });
      t.diagnostic(`${report.seconds} s of checks, ${((performance.now() - begin) / 1_000).toFixed(1)} s in all`);
      const wrong = report.checks.filter(({ result }) => result !== "passed");
      assert.deepEqual([exit, mistakes, wrong], [0, [], []]);
    });
  }

  for (const [mistake, name] of Object.entries(plantedMistakes)) {
    const receiver = receivers[name];
    it(`reports only ${mistake} for ${name}`, { skip: receiver.missing }, async (t) => {
      const { exit, report, mistakes } = await certifyReceiver(t, getReceiverCommand(receiver), { mistake });
      assert.deepEqual(mistakes, [mistake], JSON.stringify(report.findings, null, 2));
      assert.equal(exit, mistake === "slow-work" ? 0 : 1);
    });
  }
});
