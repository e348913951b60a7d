import { randomBytes } from "node:crypto";
import { hash } from "./hmac.ts";
/** Origin of a request, from the header `traceparent` (W3C Trace Context). */
export interface TraceContext {
  /** Trace ID of 32 hexadecimal digits, common to all spans of a trace. */
  readonly trace: string;
  /** Span ID of the caller, of 16 hexadecimal digits. */
  readonly span: string;
}

// A later version can add fields. The existing fields do not change their meaning (W3C Trace Context, 3.2.4).
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * Parses the header `traceparent`. Returns undefined for a missing or malformed header, which the standard treats
 * alike.
 */
export function readTraceparent(header: string | undefined): TraceContext | undefined {
  const [, version, trace, span, more] = (header && traceparent.exec(header)) || [];
  if (!trace || !span || (version === "00" && more !== undefined)) return undefined;
  return { trace, span };
}

/** Formats the header `traceparent`, with the flag for sampled spans. */
export const writeTraceparent = ({ trace, span }: TraceContext): string => `00-${trace}-${span}-01`;

const tracestateMember =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const maxTracestateMembers = 32;

/**
 * Returns the header `tracestate`, which contains vendor data and is forwarded unchanged (W3C Trace Context, 3.3).
 * Returns undefined if the header is missing or malformed.
 */
export function readTracestate(header: string | undefined): string | undefined {
  const members = (header ?? "").split(",", 1_000).map((member) => member.trim());
  const nonEmptyMembers = members.filter((member) => member !== "");
  const isWellFormed =
    nonEmptyMembers.length <= maxTracestateMembers && nonEmptyMembers.every((member) => tracestateMember.test(member));
  return isWellFormed && nonEmptyMembers.length > 0 ? header : undefined;
}
/** Creates a span as a child of another span or as the root of a trace. */
export const createSpan = (above?: TraceContext): TraceContext => ({
  trace: above?.trace ?? randomBytes(16).toString("hex"),
  span: randomBytes(8).toString("hex"),
});

const traceBytes = 16;
/** IDs are drawn in batches, because a draw per ID is measurably slow if every request starts a trace. */
const drawnBytes = 256 * traceBytes;

/**
 * Returns a function that creates trace IDs for new traces. The same seed gives the same IDs. Without a seed the IDs
 * are random.
 */
export function deriveTraceIds(seed?: string): (beginning: string) => string {
  if (seed !== undefined) return (beginning) => hash("sha256", `${seed}\0${beginning}`).toString("hex", 0, traceBytes);
  let randomPool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === randomPool.length) {
      randomPool = randomBytes(drawnBytes);
      at = 0;
    }
    at += traceBytes;
    return randomPool.toString("hex", at - traceBytes, at);
  };
}

/** Derives the ID of an object's span from the object's name, so that the ID does not have to be stored. */
export const deriveSpanId = (trace: string, name: string): string =>
  hash("sha256", `${trace}\0${name}`).toString("hex", 0, 8);
