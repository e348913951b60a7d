import { randomBytes } from "node:crypto";
import { hash } from "./hmac.ts";
import type { TraceContext } from "./trace-context.ts";

/** Something new, below another or as the beginning of a trace. */
export const createSpan = (above?: TraceContext): TraceContext => ({
  trace: above?.trace ?? randomBytes(16).toString("hex"),
  span: randomBytes(8).toString("hex"),
});

const traceBytes = 16;
/** Drawn at once: each draw by itself is felt where every request begins a trace. */
const drawnBytes = 256 * traceBytes;

/** Creates trace ids for new traces. The same seed gives the same ones; without one they are random. */
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

/** The span of one thing within a trace: made of its name, so that it need not be stored. */
export const deriveSpanId = (trace: string, name: string): string =>
  hash("sha256", `${trace}\0${name}`).toString("hex", 0, 8);
