/**
 * Whether V8 may optimise WebAssembly, in the background: for undici's parser of HTTP it would work five times as long
 * as one request takes, and the process would wait for it at its end.
 */
export function optimiseWasm(may: boolean): void {
  // The first flag turns off the two others with it, but not on again.
  const flags = may ? "--no-liftoff-only --wasm-tier-up --wasm-dynamic-tiering" : "--liftoff-only";
  process.getBuiltinModule("node:v8").setFlagsFromString(flags);
}
