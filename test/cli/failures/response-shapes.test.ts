import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { registry } from "../../../src/api/registry.ts";
import { getCommandName } from "../../support/cli/command-lines.ts";
import { findJsonErrorDefect } from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { prepareSendingLines, runPrepared, selectOneOfEachKind } from "../../support/cli/prepared-lines.ts";
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
const lines = await prepareSendingLines();

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

describe("response with the right media type and the wrong shape", () => {
  for (const [name, body] of Object.entries(bodies)) {
    it(`causes no unexpected error in any command: ${name}`, async (t) => {
      const at = await startService(t, body);
      const failures = await findFailingCases(
        // Every example runs with a response without fields.
        body === "{}" ? lines : selectOneOfEachKind(lines),
        ({ label }) => label,
        async (example) => {
          const { result } = await runPrepared(t, example, at, ["--json", "--quiet", "--timeout", "4s"]);
          return findDefect(result);
        },
      );
      assert.deepEqual(failures, {});
    });
  }

  for (const [name, body] of Object.entries(bodies)) {
    it(`is reported when its fields are read: ${name}`, async (t) => {
      const at = await startService(t, body);
      const read = lines.filter(({ line }) => readers.has(getCommandName(line.command)));
      const codes = new Map<string, string>();
      for (const example of read) {
        const { result } = await runPrepared(t, example, at, ["--json", "--quiet", "--timeout", "4s"]);
        const report = result.stderr === "" ? undefined : (JSON.parse(result.stderr) as { error: { code: string } });
        codes.set(example.label, report?.error.code ?? `exit ${result.exit}`);
      }
      const isFine = (line: string) => body === "[]" && /^(router jobs resume|webhooks (why|schedule))/.test(line);
      const unexpected = [...codes].filter(([line, code]) => code !== "unreadable_response" && !isFine(line));
      assert.deepEqual(unexpected, []);
      assert.deepEqual(new Set(read.map(({ line }) => getCommandName(line.command))), readers);
    });
  }
});
