import { readTraceparent } from "../../../src/base/trace-context.ts";
import type { Happened } from "../../store/causes.ts";
import type { ReceivedRequest } from "../handler.ts";
import { shownTarget } from "./shown-target.ts";

/** A request as the reason for what it changes, without secrets; `operation` is undefined where its path has none. */
export function requestCause(
  { method, target, headers }: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: string | undefined,
): Pick<Happened, "what" | "caller"> {
  const line = `${method} ${shownTarget(target, operation)}`;
  return {
    what: operation === undefined ? line : `${operation} ${line}`,
    caller: readTraceparent(headers.traceparent),
  };
}
