// Node's own versions of globals. The build puts them in the place of the globals in what other programs import: test
// environments replace some by a browser's (jsdom, happy-dom), and lack others. What no built-in module exports is taken
// from an object that Node itself has made.
import timers from "node:timers";
import { transferableAbortController } from "node:util";
import { deserialize, serialize } from "node:v8";

export { performance } from "node:perf_hooks";
export { URL, URLSearchParams } from "node:url";
export { TextDecoder, TextEncoder } from "node:util";

// Read once: fake timers replace them in the module, too.
export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = timers;

export const structuredClone = <T>(value: T): T => deserialize(serialize(value)) as T;

const { constructor: controllers, signal } = transferableAbortController();
const { constructor: signals } = signal;
// Those of buffers.
const { constructor: bytes } = Object.getPrototypeOf(Buffer.prototype);
const { constructor: memory } = Buffer.alloc(0).buffer;

export { bytes as Uint8Array, controllers as AbortController, memory as ArrayBuffer, signals as AbortSignal };
