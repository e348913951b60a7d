import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { registry } from "../../../src/api/registry.ts";
import { getCommandName } from "../../support/cli/command-lines.ts";
import { findJsonErrorDefect } from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import {
  type PreparedLine,
  prepareSendingLines,
  runPrepared,
  selectOneOfEachKind,
} from "../../support/cli/prepared-lines.ts";
import type { RunResult } from "../../support/cli/run-cli.ts";

const bodies: Readonly<Record<string, string>> = {
  null: "null",
  "[]": "[]",
  "[null]": "[null]",
  "{}": "{}",
  '"x"': '"x"',
  "100,000 nested lists": "[".repeat(100_000) + "]".repeat(100_000),
};

/** Commands that fail if they cannot read the fields of a response. */
const readers: ReadonlySet<string> = new Set([
  "emulator deliveries resend",
  "emulator wait-for",
  "files download",
  "files upload",
  "webhooks listen",
  "webhooks replay",
  "webhooks schedule",
  "webhooks trigger",
  "webhooks why",
  "router jobs resume",
  "router resolve",
  "auth token",
  "auth refresh",
]);
const routes = registry.map(({ method, path, responses }) => ({
  methods: [method].flat() as readonly string[],
  path: new RegExp(`^${path.replace(/\{[^}]+\}/g, "[^/]+")}$`),
  status: Number(Object.keys(responses)[0]),
}));

/** A service that sends the declared success status and media type with this body. */
async function startService(t: TestContext, body: string): Promise<{ url: string }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://any");
    const route = routes.find(({ methods, path }) => methods.includes(request.method ?? "") && path.test(pathname));
    request.resume();
    const isStream = request.headers.accept === "text/event-stream";
    const type = isStream ? "text/event-stream" : "application/json";
    response.writeHead(route?.status ?? 200, { "content-type": type }).end(isStream ? `data: ${body}\n\n` : body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Accepts a forwarded response or a single reported failure. */
function findDefect(result: RunResult): string | undefined {
  if (/Unexpected error|call stack/.test(result.stdout + result.stderr)) return formatRunResult(result);
  if (result.exit === 0) return undefined;
  return result.stderr === "" && result.stdout !== ""
    ? undefined
    : findJsonErrorDefect(result, { exit: result.exit, message: /./, streams: true });
}

const readsFields = ({ line }: PreparedLine): boolean => readers.has(getCommandName(line.command));
const lines = await prepareSendingLines();
const tried = new Set([...selectOneOfEachKind(lines), ...lines.filter(readsFields)]);

describe("response with the right media type and the wrong shape", () => {
  it("is tried with every command that reads fields", () =>
    assert.deepEqual(new Set([...tried].filter(readsFields).map(({ line }) => getCommandName(line.command))), readers));

  for (const [name, body] of Object.entries(bodies)) {
    it(`causes no unexpected error in any command, and is reported if its fields are read: ${name}`, async (t) => {
      const at = await startService(t, body);
      const isEmptyList = ({ label }: PreparedLine) =>
        body === "[]" && /^(router jobs resume|webhooks (why|schedule))/.test(label);
      const failures = await findFailingCases(
        // Every example runs with a response without fields.
        body === "{}" ? lines : [...tried],
        ({ label }) => label,
        async (example) => {
          const { result } = await runPrepared(t, example, at, ["--json", "--quiet", "--timeout", "4s"]);
          const isReported = result.stderr.includes('"code":"unreadable_response"');
          const mustReport = readsFields(example) && !isEmptyList(example);
          return findDefect(result) ?? (mustReport && !isReported ? formatRunResult(result) : undefined);
        },
      );
      assert.deepEqual(failures, {});
    });
  }
});
