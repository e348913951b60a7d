import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getReceiverCommand, receivers } from "./built.ts";
import { certifyReceiver } from "./certified.ts";

/** Planted mistakes, each in receivers of two languages. */
const plantedMistakes: Readonly<Record<string, readonly [keyof typeof receivers, keyof typeof receivers]>> =
  Object.freeze({
    "reserialized-json": ["express", "go"],
    "key-not-decoded": ["flask", "java"],
    "wrong-digest": ["express", "java"],
    "decoded-text": ["express", "flask"],
    "case-insensitive": ["flask", "go"],
    "signature-unchecked": ["express", "go"],
    "header-case": ["go", "java"],
    "body-limit": ["express", "flask"],
    "answered-before-stored": ["flask", "go"],
    "slow-work": ["express", "java"],
    "no-dedupe": ["express", "java"],
    "unknown-activity": ["flask", "java"],
    "duplicate-refused": ["express", "go"],
    "stale-overwrite": ["flask", "java"],
    "missing-accepted": ["flask", "go"],
    "prefix-comparison": ["express", "flask"],
    "dedupe-race": ["flask", "go"],
    "lost-update": ["flask", "go"],
  });
/** Prints what a receiver has stored, and a line for each event. */
const countingProbe = `tr '\\n' ' ' < "$STORE"; seq "$(grep -oE '^[0-9]+$|"events": ?[0-9]+' "$STORE" | grep -oE '[0-9]+')"`;
/** Mistakes that only a count of the events shows. */
const countedMistakes = ["dedupe-race", "lost-update"];
const warnings = ["case-insensitive", "slow-work"];

describe("svc webhooks certify with framework receivers", () => {
  for (const [name, receiver] of Object.entries(receivers)) {
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

  for (const [mistake, names] of Object.entries(plantedMistakes)) {
    for (const name of names) {
      const receiver = receivers[name];
      it(`reports only ${mistake} for ${name}`, { skip: receiver.missing }, async (t) => {
        const { exit, report, mistakes } = await certifyReceiver(t, getReceiverCommand(receiver), {
          mistake,
          ...(countedMistakes.includes(mistake) && { probe: countingProbe }),
        });
        assert.deepEqual(mistakes, [mistake], JSON.stringify(report.findings, null, 2));
        assert.equal(exit, warnings.includes(mistake) ? 0 : 1);
      });
    }
  }
});
