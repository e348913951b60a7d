import { type Answer, jsonAnswer } from "./answer.ts";

/** Answers that are the same whatever operation was meant. The control plane words them as it words all its failures. */

const errorBody = (isControl: boolean, code: string, message: string) =>
  isControl ? { error: { code, message } } : { detail: message };

export const forbidden = (isControl: boolean, message: string): Answer =>
  jsonAnswer(403, errorBody(isControl, "forbidden", message));

/** The rest of the body is not waited for, so nothing else can come on this connection. */
export const tooLate = (isControl: boolean): Answer =>
  jsonAnswer(408, errorBody(isControl, "request_timeout", "The rest of the request did not come in time."), [
    "connection",
    "close",
  ]);

/** `GET *`, `ftp://host/`: no server could find anything there (RFC 9112, 3.2). */
export const noTarget: Answer = jsonAnswer(400, { detail: "The target of a request is a path, or an http URL." });

/** `/a/..%2f..%2fb`: a path to some servers, and another one to others. */
export const ambiguousTarget: Answer = jsonAnswer(400, {
  detail: "The path has a dot segment beside an encoded slash or a backslash. Send the path that it stands for.",
});

export const notReady: Answer = jsonAnswer(503, { detail: "The emulator is starting." }, ["retry-after", "1"]);

/** Nothing of it was kept; sent again, it meets the state that is there now. */
export const stateReplaced = (isControl: boolean): Answer =>
  jsonAnswer(
    503,
    errorBody(
      isControl,
      "state_replaced",
      "The state was replaced while this request was in progress. Nothing was saved.",
    ),
    ["retry-after", "1"],
  );
