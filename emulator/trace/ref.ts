/** What a trace is asked for by. */
export type TraceRef =
  | { readonly by: "cause"; readonly id: string }
  | { readonly by: "trace"; readonly id: string }
  | { readonly by: "event" | "delivery" | "webhook"; readonly id: number }
  | { readonly by: "contract"; readonly id: number; readonly composite: string };

const cause = /^(?:request|advance|timer):[1-9]\d{0,14}$/;
const row = /^(event|delivery|webhook):([1-9]\d{0,14})$/;
const attempt = /^attempt:([1-9]\d{0,14})\.[1-9]\d{0,14}$/;
const contract = /^[TH]-([1-9]\d{0,14})$/;
const trace = /^(?!0{32})[0-9a-f]{32}$/;

/**
 * Understands `request:12`, `T-1`, `delivery:3` and the like, and a W3C trace id, in capitals or not; undefined for
 * anything else.
 */
export function parseTraceRef(given: string): TraceRef | undefined {
  const lower = given.toLowerCase();
  const text = /^[th]-/.test(lower) ? lower.toUpperCase() : lower;
  if (cause.test(text)) return { by: "cause", id: text };
  if (trace.test(text)) return { by: "trace", id: text };
  const [, by, id] = row.exec(text) ?? [];
  if (by) return { by: by as "event" | "delivery" | "webhook", id: Number(id) };
  // Attempts are told with all others of their delivery: one follows from another.
  const [, ofAttempt] = attempt.exec(text) ?? [];
  if (ofAttempt) return { by: "delivery", id: Number(ofAttempt) };
  const [composite, number] = contract.exec(text) ?? [];
  return composite ? { by: "contract", id: Number(number), composite } : undefined;
}
