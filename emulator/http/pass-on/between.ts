import { type IncomingMessage, request as requestTo, type ServerResponse } from "node:http";
import { answerJson } from "./answer-json.ts";
import { agent } from "./pass-on.ts";

/*
 * What processes that share a state say to each other, beside what they pass on: a document each way, on a path that
 * nothing is declared for, by the token that all of them have.
 */

/** Where the listener of the router takes it. */
export const betweenPath = "/_emulator/between";

/** How long an answer may take: whoever waits for it goes on without. */
const patienceMs = 1_000;
const mostBytes = 8 << 20;

/** What the process at that address answers; undefined: nothing that is of use. */
export function sendMessage(origin: string, token: string, document: unknown): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(document));
  return new Promise((resolve) => {
    const nothing = () => resolve(undefined);
    const sent = requestTo(`${origin}${betweenPath}`, {
      agent,
      method: "POST",
      timeout: patienceMs,
      headers: { authorization: `Bearer ${token}`, "content-length": body.length },
    });
    sent.once("timeout", () => sent.destroy());
    sent.once("error", nothing);
    sent.once("response", (answer) => {
      if (answer.statusCode === 200) void documentIn(answer).then(resolve, nothing);
      else {
        answer.resume();
        nothing();
      }
    });
    sent.end(body);
  });
}

/** Answers a message of another process. Whether it may send any, the caller knows. */
export async function answerMessage(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (message: unknown) => unknown,
): Promise<void> {
  const message = await documentIn(request).catch(() => undefined);
  answerJson(response, 200, answer(message) ?? null);
}

async function documentIn(from: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of from as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > mostBytes) throw new Error("too long");
  }
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}
