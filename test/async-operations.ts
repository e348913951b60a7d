import asyncHooks, { type HookCallbacks } from "node:async_hooks";

/** Number of further operations after which an operation that started none meanwhile is removed. */
const remembered = 2 ** 16;

/**
 * Node's test runner records the test of each asynchronous operation, to assign uncaught errors, and removes the record
 * when the operation is destroyed. For that, V8 watches every promise, which costs a seventh of the CPU time of tests.
 * `test/run.ts` loads this module before the runner. It removes old records by their numbers instead. An uncaught error
 * of an operation without a record still fails the file, but names no test.
 */
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks: HookCallbacks) => {
  const { init, destroy, ...others } = callbacks;
  if (init === undefined || destroy === undefined) return createHook(callbacks);
  const lasting = new Set<number>();
  let oldest = 0;
  return createHook({
    ...others,
    init(id, type, triggerId, resource) {
      init(id, type, triggerId, resource);
      if (type === "Test") lasting.add(id);
      if (triggerId < id - remembered / 2) lasting.add(triggerId);
      if (id < oldest + 2 * remembered) return;
      for (; oldest < id - remembered; oldest += 1) if (!lasting.has(oldest)) destroy(oldest);
    },
  });
};
