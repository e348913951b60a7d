import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createCommandLines, getCommandName } from "../../support/cli/command-lines.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { localCommands, prepareSendingLines, runPrepared } from "../../support/cli/prepared-lines.ts";
import { runCli } from "../../support/cli/run-cli.ts";

describe("request option", () => {
  /** Commands that send requests in some cases or start a process that does. */
  const sometimes = [
    ...["tour", "run", "dev", "mcp", "emulator start", "emulator exec", "verify proxy", "verify replay"],
    ...["auth certify", "webhooks certify", "webhooks verify", "webhooks sign", "webhooks explain"],
  ];
  const otherCommands = ["router jobs undo", "auth status"];
  const local = Object.keys(localCommands).filter((words) => ![...sometimes, ...otherCommands].includes(words));

  for (const words of local) {
    it(`is rejected by svc ${words}, which sends no requests`, async () => {
      const line = (await createCommandLines()).find(({ command }) => getCommandName(command) === words)!;
      for (const flags of ["--timeout 3s", "--retries 1", "--max-wait 1s", "--max-response 1MB"]) {
        const { exit, stdout, stderr } = await runCli([...line.argv, ...flags.split(" ")]);
        assert.deepEqual([exit, stdout], [2, ""]);
        assert.ok(stderr.includes(`${flags.split(" ")[0]} cannot be used with svc ${words}`), stderr);
      }
    });
  }
});

describe("layout options", () => {
  it("supports or rejects --fields in every command that sends requests", async (t) => {
    const server = createServer((request, response) => {
      const isStream = request.headers.accept === "text/event-stream";
      const type = isStream ? "text/event-stream" : "application/json";
      request
        .resume()
        .on("end", () => response.writeHead(200, { "content-type": type }).end(isStream ? "data: {}\n\n" : "{}"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const service = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const lines = (await prepareSendingLines()).filter(({ label }) => !/--(json|fields|format)/.test(label));
    const failures = await findFailingCases(
      lines,
      ({ label }) => label,
      async (example) => {
        const flags = ["--json", "--fields", "xyzzy", "--timeout", "4s", "--quiet"];
        const { result } = await runPrepared(t, example, service, flags);
        const isHonored = result.stdout.includes('"xyzzy"') || result.stdout === "[]\n";
        return isHonored || result.exit !== 0 ? undefined : formatRunResult(result);
      },
    );
    assert.deepEqual(failures, {});
  });

  for (const line of [
    "api GET /x --fields a",
    "api GET /x --json=a",
    "api GET /x --format csv",
    "files download f-1 --fields a",
    "contracts download T-1 --format tsv",
    "emulator state export --fields a",
    "emulator seed-schema --fields a",
    "completion bash --fields a",
    "openapi contracts --format csv",
    "config set router_url http://svc.example --fields a",
    "config set router_url http://svc.example --wide",
    "files download f-1 --wide",
    "openapi contracts --wide",
    "webhooks delete 1 --wide",
  ]) {
    it(`rejects svc ${line} before any action`, async () => {
      const { exit, stdout, stderr } = await runCli(`${line} --base-url http://127.0.0.1:1`);
      assert.deepEqual([exit, stdout], [2, ""]);
      assert.match(stderr, /--(fields|format|wide) cannot be used with svc /);
    });
  }

  for (const flags of [["--json="], ["--fields", ""], ["--fields", " , "]]) {
    it(`rejects ${JSON.stringify(flags)} without a field name`, async () => {
      const { exit, stdout, stderr } = await runCli(["router", "health", "--base-url", "http://127.0.0.1:1", ...flags]);
      assert.deepEqual([exit, stdout], [2, ""]);
      assert.match(stderr, /^(error: |.*"message":")--fields must be at least one field, got /);
    });
  }

  for (const [url, label] of [
    ["http://svc.example/#x", "a fragment"],
    ["http://svc.example/?a=b", "a query"],
    ["http://svc.example/a b", "blanks"],
    ["http://svc.example ", "blanks"],
  ] as const) {
    it(`rejects the base URL "${url}" from any source`, async () => {
      const invocations: [readonly string[], Record<string, string>][] = [
        [["--base-url", url], {}],
        [[], { SVC_BASE_URL: url }],
        [[], { SVC_ROUTER_URL: url }],
      ];
      for (const [flags, env] of invocations) {
        const { exit, stdout, stderr } = await runCli(["router", "health", ...flags], { env });
        assert.deepEqual([exit, stdout], [2, ""]);
        assert.ok(stderr.includes(` must be a URL without ${label}, got "${url}"`), stderr);
      }
    });
  }
});
