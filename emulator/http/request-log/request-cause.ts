import { readTraceparent } from "../../../src/base/tracing/trace-context.ts";
import type { Happened } from "../../store/causes.ts";
import type { ReceivedRequest } from "../handler.ts";
import { shownTarget } from "./shown-target.ts";

interface Shown {
  readonly method: string;
  readonly target: string;
  readonly what: string;
}

/**
 * The last one of each operation. Most that change something come to the same target again, by the thousand: it is taken
 * apart once, and all that are kept share one text.
 */
const shown = new Map<string, Shown>();

/** A request as the reason for what it changes, without secrets; `operation` is undefined where its path has none. */
export function requestCause(
  { method, target, headers }: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: string | undefined,
): Pick<Happened, "what" | "caller"> {
  const caller = readTraceparent(headers.traceparent);
  if (operation === undefined) return { what: `${method} ${shownTarget(target, operation)}`, caller };
  let last = shown.get(operation);
  if (last?.target !== target || last.method !== method) {
    last = { method, target, what: `${operation} ${method} ${shownTarget(target, operation)}` };
    shown.set(operation, last);
  }
  return { what: last.what, caller };
}
