/** Origin of a call, as the header `traceparent` has it (W3C Trace Context). */
export interface TraceContext {
  /** 32 hexadecimal digits, the same for all that happens because of one thing. */
  readonly trace: string;
  /** 16 hexadecimal digits: the caller's span. */
  readonly span: string;
}

// A later version may have more fields; these keep their meaning (W3C Trace Context, 3.2.4).
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Undefined if it is missing or malformed: such a header is as good as none. */
export function readTraceparent(header: string | undefined): TraceContext | undefined {
  const [, version, trace, span, more] = (header && traceparent.exec(header)) || [];
  if (!trace || !span || (version === "00" && more !== undefined)) return undefined;
  return { trace, span };
}

/** With the flag that says that spans are stored. */
export const writeTraceparent = ({ trace, span }: TraceContext): string => `00-${trace}-${span}-01`;

const tracestateMember =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const maxTracestateMembers = 32;

/**
 * Vendor data in addition to a `traceparent`, which is forwarded unchanged (W3C Trace Context, 3.3). Undefined if it is
 * missing or malformed.
 */
export function readTracestate(header: string | undefined): string | undefined {
  const members = (header ?? "").split(",", 1_000).map((member) => member.trim());
  const told = members.filter((member) => member !== "");
  const isWellFormed = told.length <= maxTracestateMembers && told.every((member) => tracestateMember.test(member));
  return isWellFormed && told.length > 0 ? header : undefined;
}
