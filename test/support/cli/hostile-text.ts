import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Text with every known attack on a terminal, a log and the runner that parses the log. */
export const hostileText =
  "pwn\n::stop-commands::pwn\r\n  ::add-mask::x\n##[group]pwn \x1b[2J\x1b]52;c;eA==\x07\x1b]8;;http://x\x1b\\\x1bPq\x1b\\ \x9b2J\u202e\u2066\u200b\u2028\ud800\t\b é漢👍🏽";

/** Returns the first forbidden control character in a text, except the program's own styles. */
export function findTerminalEscape(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const plain = text.replace(/\x1b\[(?:1|2|22|3[1236]|39)m/g, "");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const found = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028\u202e\u2066]|\r(?!\n)|\ufffd/.exec(plain);
  return found ? JSON.stringify(plain.slice(Math.max(0, found.index - 30), found.index + 30)) : undefined;
}

/**
 * Checks output of an interactive terminal in the same way. Sequences with which prompts and spinners rewrite their
 * lines are ignored.
 */
export const findInteractiveEscape = (output: string): string | undefined =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  findTerminalEscape(output.replace(/\x1b\[(?:\d*(?:;\d+)*[mABCDGK]|[01]?J|\?(?:25|2026)[hl])|\r/g, ""));

/** Returns the first log command that a runner would execute, except this program's own. */
export function findRunnerCommand(text: string): string | undefined {
  const workflowCommand = /^::(?:error title=svc%3A [^:]*::|add-mask::|group::|endgroup::)/;
  const lines = text.split(/\r\n|[\r\n]/).filter((line) => !workflowCommand.test(line));
  return lines.find((line) => /^\s*::/.test(line) || line.includes("##["));
}

/** Response of the service, as status and body or as an event stream. */
export interface HostileTextResponse {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Starts one server for all tests of a file. `endpoint` returns a base URL with the same response to every request, and
 * with an error after too many requests.
 */
export async function startHostileTextService(t: Pick<TestContext, "after">) {
  const endpoints: HostileTextResponse[] = [];
  const counts: number[] = [];
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    incoming.resume();
    const index = Number(/^\/(\d+)/.exec(incoming.url ?? "")?.[1]);
    const { status, body } = endpoints[index] ?? { status: 404, body: {} };
    counts[index] = (counts[index] ?? 0) + 1;
    if (counts[index] > 20) return response.writeHead(400).end("{}");
    const isStream = incoming.headers.accept === "text/event-stream" && status === 200;
    response.writeHead(status, {
      "content-type": isStream ? "text/event-stream" : "application/json",
      // A header can contain 8-bit controls, and a command in the middle.
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
    endpoint(scriptedResponse: HostileTextResponse): { url: string } {
      endpoints.push(scriptedResponse);
      return { url: `${base}/${endpoints.length - 1}` };
    },
  };
}
