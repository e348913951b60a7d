import { randomBytes } from "node:crypto";
import { hash } from "./hmac.ts";
import type { TraceContext } from "./trace-context.ts";

/** A new span, as a child of another one or as the root of a trace. */
export const createSpan = (above?: TraceContext): TraceContext => ({
  trace: above?.trace ?? randomBytes(16).toString("hex"),
  span: randomBytes(8).toString("hex"),
});

const traceBytes = 16;
/** Drawn together, because a draw per id is measurably slow if every request starts a trace. */
const drawnBytes = 256 * traceBytes;

/** Creates trace ids for new traces. The same seed gives the same ids. Without one they are random. */
export function deriveTraceIds(seed?: string): (beginning: string) => string {
  if (seed !== undefined) return (beginning) => hash("sha256", `${seed}\0${beginning}`).toString("hex", 0, traceBytes);
  let drawn = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes(drawnBytes);
      at = 0;
    }
    at += traceBytes;
    return drawn.toString("hex", at - traceBytes, at);
  };
}

/** The span of an object within a trace, derived from its name so that it is not stored. */
export const deriveSpanId = (trace: string, name: string): string =>
  hash("sha256", `${trace}\0${name}`).toString("hex", 0, 8);
