import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getReceiverCommand, receivers } from "./built.ts";
import { certifyReceiver } from "./certified.ts";

/** Planted mistakes and their receivers. */
const plantedMistakes: Readonly<Record<string, readonly (keyof typeof receivers)[]>> = Object.freeze({
  "reserialized-json": ["express", "flask", "go"],
  "key-not-decoded": ["express", "flask", "java"],
  "wrong-digest": ["express", "flask", "java"],
  "decoded-text": ["express", "flask", "java"],
  "case-insensitive": ["express", "flask", "go"],
  "signature-unchecked": ["express", "flask", "go"],
  "header-case": ["express", "flask", "go", "java"],
  "body-limit": ["express", "flask", "go"],
  "answered-before-stored": ["express", "flask", "go"],
  "slow-work": ["express", "flask", "java"],
  "no-dedupe": ["express", "flask", "java"],
  "unknown-activity": ["express", "flask", "java"],
  "duplicate-refused": ["express", "go"],
  "stale-overwrite": ["express", "flask", "java"],
  "missing-accepted": ["flask", "go"],
  "prefix-comparison": ["express", "flask"],
});
const warnings = ["case-insensitive", "slow-work"];

describe("svc webhooks certify with framework receivers", () => {
  for (const [name, receiver] of Object.entries(receivers)) {
    it(`reports no problem for ${name}`, { skip: receiver.missing }, async (t) => {
      const begin = performance.now();
      const { exit, report, mistakes } = await certifyReceiver(t, getReceiverCommand(receiver));
      t.diagnostic(`${report.seconds} s of checks, ${((performance.now() - begin) / 1_000).toFixed(1)} s in all`);
      const wrong = report.checks.filter(({ result }) => result !== "passed");
      assert.deepEqual([exit, mistakes, wrong], [0, [], []]);
    });
  }

  for (const [mistake, names] of Object.entries(plantedMistakes)) {
    for (const name of names) {
      const receiver = receivers[name];
      it(`reports only ${mistake} for ${name}`, { skip: receiver.missing }, async (t) => {
        const { exit, report, mistakes } = await certifyReceiver(t, getReceiverCommand(receiver), { mistake });
        assert.deepEqual(mistakes, [mistake], JSON.stringify(report.findings, null, 2));
        assert.equal(exit, warnings.includes(mistake) ? 0 : 1);
      });
    }
  }
});
