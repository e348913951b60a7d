import type { IncomingMessage, ServerResponse } from "node:http";
import { answerJson } from "./answer-json.ts";

/** Says in an answer that the one who gives it does not lead, and has done nothing. */
export const notLeading = "x-svc-not-leading";

/** Answers that nothing was done, since another process leads, or will in a moment. `name`: that of the listener. */
export function refuseMoved(request: IncomingMessage, response: ServerResponse, name: string): void {
  const message = "Another process leads this state, or will in a moment. Nothing was done: send it again.";
  refuse(request, response, { name, code: "not_leading", message, headers: [notLeading, "1", "retry-after", "1"] });
}

/** Answers that the process which leads ended before it had answered. Sent again, it might be done twice. */
export function refuseUncertain(request: IncomingMessage, response: ServerResponse, name: string): void {
  const message = "The process that leads this state ended before it had answered. It may have been done: look first.";
  refuse(request, response, { name, code: "uncertain", message, headers: [] });
}

interface Refusal {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly headers: readonly string[];
}

/** In the words in which the listener tells of failures: both services have them in one form, the control plane in its own. */
function refuse(request: IncomingMessage, response: ServerResponse, { name, code, message, headers }: Refusal): void {
  const isControl = name === "router" && request.url?.startsWith("/_emulator/");
  answerJson(response, 503, isControl ? { error: { code, message } } : { detail: message }, headers);
}
