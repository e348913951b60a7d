import type { TestContext } from "node:test";

type Cleanup = () => unknown;

const stacks = new WeakMap<object, Cleanup[]>();

/**
 * Registers a cleanup for the end of a test. Cleanups run in reverse order, so that an emulator or a process ends
 * before its folder is removed. Every cleanup runs, and the first error is thrown afterwards. Hooks of `t.after` run in
 * the order of registration instead, and an error of one skips the others.
 */
export function addCleanup(t: Pick<TestContext, "after">, cleanup: Cleanup): void {
  const stack = stacks.get(t) ?? [];
  if (stack.length === 0 && !stacks.has(t)) t.after(() => runAll(stack));
  stacks.set(t, stack);
  stack.push(cleanup);
}

async function runAll(stack: Cleanup[]): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanup = stack.pop(); cleanup !== undefined; cleanup = stack.pop()) {
    try {
      await cleanup();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
