import type { TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";

/** Collects the warnings of Node.js, such as those about too many listeners. Returns a function that lists them. */
export function collectProcessWarnings(t: TestContext): () => Promise<readonly string[]> {
  const warnings: string[] = [];
  const add = ({ message }: Error) => warnings.push(message);
  process.on("warning", add);
  t.after(() => process.off("warning", add));
  return async () => {
    // Node.js emits warnings on a later turn.
    await setImmediate();
    return warnings;
  };
}
