// Node.js's own versions of globals. The build uses them in the modules that other programs import. Tests replace some
// globals (fake timers, a fake Date), and environments with a browser's globals (jsdom, happy-dom) replace or omit
// others. Some globals are not exported by any built-in module and are taken from objects that Node.js creates.
import timers from "node:timers";
import { transferableAbortController } from "node:util";
import { deserialize, serialize } from "node:v8";

export { performance } from "node:perf_hooks";
export { URL, URLSearchParams } from "node:url";
export { TextDecoder, TextEncoder } from "node:util";

// Fake timers also replace the functions in the module, so they are read once.
export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = timers;

const { nextTick } = process.getBuiltinModule("node:process");

export { nextTick as "process.nextTick" };

// No module exports it, and the global can be fake before this module is loaded.
export const queueMicrotask = (callback: () => void): void => {
  void Promise.resolve().then(callback);
};

export const structuredClone = <T>(value: T): T => deserialize(serialize(value)) as T;

const { constructor: controllers, signal } = transferableAbortController();
const { constructor: signals } = signal;
const { constructor: bytes } = Object.getPrototypeOf(Buffer.prototype);
const { constructor: memory } = Buffer.alloc(0).buffer;
// First instant of 1970, as V8 serializes it.
const { constructor: dates } = deserialize(Buffer.from("ff0f440000000000000000", "hex"));

export {
  bytes as Uint8Array,
  controllers as AbortController,
  dates as Date,
  memory as ArrayBuffer,
  signals as AbortSignal,
};
