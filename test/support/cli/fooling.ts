import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Everything that a text can try on a terminal, on a log, and on the runner that reads it. */
export const attack =
  "pwn\n::stop-commands::pwn\r\n  ::add-mask::x\n##[group]pwn \x1b[2J\x1b]52;c;eA==\x07\x1b]8;;http://x\x1b\\\x1bPq\x1b\\ \x9b2J\u202e\u2066\u200b\u2028\ud800\t\b é漢👍🏽";

/** What no terminal may be given, our own styles left out. */
export function fooled(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const plain = text.replace(/\x1b\[(?:1|2|22|3[1236]|39)m/g, "");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const found = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028\u202e\u2066]|\r(?!\n)|\ufffd/.exec(plain);
  return found ? JSON.stringify(plain.slice(Math.max(0, found.index - 30), found.index + 30)) : undefined;
}

/**
 * The same of all that was written to a terminal on which something moved: what the libraries of questions and spinners
 * write to rewrite their own lines is left out.
 */
export const fooledTerminal = (written: string): string | undefined =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  fooled(written.replace(/\x1b\[(?:\d*(?:;\d+)*[mABCDGK]|[01]?J|\?(?:25|2026)[hl])|\r/g, ""));

/** The commands that a runner would obey in a log, those of this program left out. */
export function obeyed(text: string): string | undefined {
  const own = /^::(?:error title=svc%3A [^:]*::|add-mask::|group::|endgroup::)/;
  const lines = text.split(/\r\n|[\r\n]/).filter((line) => !own.test(line));
  return lines.find((line) => /^\s*::/.test(line) || line.includes("##["));
}

/** How a service answers: with what status and body, or as a stream of events. */
export interface Fooling {
  readonly status: number;
  readonly body: unknown;
}

/** One server for all: `endpoint` gives a base URL that answers everything alike, and trouble when it is asked too often. */
export async function foolingService(t: Pick<TestContext, "after">) {
  const endpoints: Fooling[] = [];
  const counts: number[] = [];
  const server = createServer((asked: IncomingMessage, response: ServerResponse) => {
    asked.resume();
    const index = Number(/^\/(\d+)/.exec(asked.url ?? "")?.[1]);
    const { status, body } = endpoints[index] ?? { status: 404, body: {} };
    counts[index] = (counts[index] ?? 0) + 1;
    if (counts[index] > 20) return response.writeHead(400).end("{}");
    const isStream = asked.headers.accept === "text/event-stream" && status === 200;
    response.writeHead(status, {
      "content-type": isStream ? "text/event-stream" : "application/json",
      // What a header can carry: controls of eight bits, and a command in the middle.
      "x-request-id": "req ##[group] \x9b2J ::stop-commands::",
    });
    const text = JSON.stringify(body);
    response.end(isStream ? `data: ${text}\n\n` : text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint(answer: Fooling): { url: string } {
      endpoints.push(answer);
      return { url: `${base}/${endpoints.length - 1}` };
    },
  };
}
