import asyncHooks, { type AsyncHook, type AsyncResource, type HookCallbacks } from "node:async_hooks";
import { type NamedTest, noteUnderWay } from "./under-way.ts";

/**
 * Loaded before Node's test runner, where tests run. By itself it follows every promise from where it is made until it
 * is collected, to know which test an error belongs to that nothing caught, and no option turns that off: a fifth of
 * the time of all tests. Here it is told of tests alone, and such an error belongs to the test that began last: in one
 * process they run one after another.
 */
const { createHook, executionAsyncId } = asyncHooks;

type RunnerCallbacks = Required<Pick<HookCallbacks, "init" | "destroy">>;

Object.assign(asyncHooks, {
  createHook: (callbacks: HookCallbacks) => (isRunners(callbacks) ? followTests(callbacks) : createHook(callbacks)),
});

/** What belongs to Node itself has no prototype. */
const isRunners = (callbacks: HookCallbacks): callbacks is RunnerCallbacks =>
  Object.getPrototypeOf(callbacks) === null && callbacks.init !== undefined && callbacks.destroy !== undefined;

function followTests({ init, destroy }: RunnerCallbacks): AsyncHook {
  const tests = new Set<number>();
  let begunLast: number | undefined;
  const callbacks = {
    init(id: number, type: string, trigger: number, resource: object) {
      if (type !== "Test") return;
      tests.add(id);
      init(id, type, trigger, resource);
      const test = resource as AsyncResource & NamedTest;
      const run = test.runInAsyncScope.bind(test);
      const begin = (...given: Parameters<typeof run>) => {
        begunLast = id;
        noteUnderWay(test);
        return run(...given);
      };
      Object.assign(test, { runInAsyncScope: begin });
    },
    // Node 24 need not even ask whether a promise is a test.
    trackPromises: false,
  };

  /** Before the runner asks whose the error is: it belongs to what is under way now, and that to the test. */
  function sayWhose(): void {
    const id = executionAsyncId();
    if (begunLast === undefined || tests.has(id)) return;
    init(id, "error", begunLast, {});
    queueMicrotask(() => destroy(id));
  }

  const hook = createHook(callbacks);
  const errors = ["uncaughtException", "unhandledRejection"];
  return {
    enable() {
      for (const event of errors) process.on(event, sayWhose);
      hook.enable();
      return this;
    },
    disable() {
      // Who listens any longer would keep Node from ending with the error.
      for (const event of errors) process.off(event, sayWhose);
      hook.disable();
      return this;
    },
  };
}
