import { pdfLimits } from "./limits.ts";

// Prepares the globals of the process that reads PDFs. This module must be imported before pdfjs-dist.

/** V8's own limit does not cover typed arrays, into which compressed streams are decoded. */
let remainingBytes = Number.POSITIVE_INFINITY;

export class ByteBudgetExceededError extends Error {
  override readonly name = "ByteBudgetExceededError";
}

export const resetByteBudget = (): void => {
  remainingBytes = pdfLimits.memoryMb * 1024 * 1024;
};

/** The parser treats some errors as gaps in a document and continues. */
export const isOverBudget = (): boolean => remainingBytes < 0;

function spendBudget(bytes: number): void {
  remainingBytes -= bytes;
  if (remainingBytes < 0) throw new ByteBudgetExceededError("too many bytes");
}

type Constructor = new (...args: unknown[]) => object;
const globals = globalThis as unknown as Record<string, Constructor>;
const bufferTypes = [ArrayBuffer, SharedArrayBuffer];
const arrayTypes = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
];

for (const type of bufferTypes) countCalls(type.name, ([length]) => Number(length) || 0);
for (const type of arrayTypes) countCalls(type.name, ([source]) => getLength(source) * type.BYTES_PER_ELEMENT);

function countCalls(name: string, computeBytes: (args: readonly unknown[]) => number): void {
  const original = globals[name]!;
  const proxy: typeof original = new Proxy(original, {
    construct(target, args, newTarget) {
      spendBudget(computeBytes(args));
      return Reflect.construct(target, args, newTarget === proxy ? target : newTarget);
    },
  });
  globals[name] = proxy;
}

/** A view of a buffer counts as zero, because the buffer itself was counted. */
function getLength(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "object" || value === null || !("length" in value)) return 0;
  return Number(value.length) || 0;
}

// These decompressors bypass the budget. The parser does not need them, because it has its own in JavaScript and images
// are not read.
for (const name of ["DecompressionStream", "WebAssembly"]) Reflect.deleteProperty(globals, name);

// The parser warns if the drawing classes of a browser are missing when it loads. Nothing is drawn here.
for (const name of ["DOMMatrix", "ImageData", "Path2D"]) globals[name] ??= class {};

const { log } = console;
console.log = () => {};

/** console.log is replaced while the parser loads, which hides a warning about the missing canvas package. */
export const restoreConsole = (): void => {
  console.log = log;
};
