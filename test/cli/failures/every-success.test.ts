import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { findOperationAt } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import type { CommandSpec } from "../../../src/derive/command-spec.ts";
import { getCommandName } from "../../support/cli/command-lines.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { prepareSendingLines, runPrepared, selectOneOfEachKind } from "../../support/cli/prepared-lines.ts";
import { runCli } from "../../support/cli/run-cli.ts";

/** A service that sends this status and body to every request. */
async function startRespondingService(t: TestContext, status: number, body: string) {
  const answered: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const { pathname } = new URL(request.url ?? "", "http://any");
      const operation = findOperationAt(registry, request.method ?? "", pathname);
      if (operation !== undefined) answered.push(operation.id);
      response.writeHead(status, body === "" ? {} : { "content-type": "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answered };
}

const lines = await prepareSendingLines();
const derivedLines = lines.filter(({ line }) => "id" in line.command);

describe("successful 2xx response to a command", () => {
  for (const status of [200, 201, 202, 204]) {
    for (const body of status === 204 ? [""] : ['{"id":"C-1"}', ""]) {
      it(`is accepted with status ${status} ${body === "" ? "without a body" : "with a body"}`, async (t) => {
        const service = await startRespondingService(t, status, body);
        const failures = await findFailingCases(
          // All derived commands share their code, so all of them run with one status only.
          status === 200 ? derivedLines : selectOneOfEachKind(derivedLines),
          ({ label }) => label,
          async (example) => {
            const spec = example.line.command as CommandSpec;
            const { result } = await runPrepared(t, example, service, ["--json"]);
            const isAsDeclared = spec.responses[status] !== undefined || isPassing(spec);
            const isReported = result.stderr.includes(
              `The response of ${spec.id} differs from its declaration: status ${status} `,
            );
            if (body === "" && requiresContent(spec, status)) {
              const message = `, but the service responded ${status} with an empty body.`;
              return result.exit === 1 && result.stderr.includes(message) ? undefined : formatRunResult(result);
            }
            const isPrinted = body === "" || result.stdout.includes("C-1") || /^Wrote /m.test(result.stderr);
            const isRight = result.exit === 0 && isPrinted && (isReported || isAsDeclared);
            return isRight ? undefined : formatRunResult(result);
          },
        );
        assert.deepEqual(failures, {});
      });
    }
  }

  it("causes no error in a hand-written command", async (t) => {
    const failures: Record<string, string> = {};
    for (const status of [202, 204]) {
      const service = await startRespondingService(t, status, status === 204 ? "" : '{"id":"C-1"}');
      const unresolved = await findFailingCases(
        lines.filter((example) => !derivedLines.includes(example)),
        ({ label }) => `${status} ${label}`,
        async (example) => {
          // The auth commands require the statuses of OAuth.
          if (getCommandName(example.line.command).startsWith("auth ")) return undefined;
          const { result } = await runPrepared(t, example, service, ["--json", "--timeout", "4s"]);
          return /refused/.test(result.stderr) ? formatRunResult(result) : undefined;
        },
      );
      Object.assign(failures, unresolved);
    }
    assert.deepEqual(failures, {});
  });

  it("prints a contract created with 200 and reports the difference in one line", async (t) => {
    const { url } = await startRespondingService(t, 200, '{"id":"C-1","new":true,"newer":1,"newest":2}');
    const run = (...flags: string[]) =>
      runCli(["contracts", "create", "--data", "-", "--json", ...flags], {
        env: { SVC_BASE_URL: url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" },
        stdin: ndaContractJson,
      });
    const plain = await run();
    assert.deepEqual(
      { exit: plain.exit, stdout: JSON.parse(plain.stdout) },
      { exit: 0, stdout: { id: "C-1", new: true, newer: 1, newest: 2 } },
    );
    assert.match(
      plain.stderr,
      /^The response of contracts\.create differs from its declaration: status 200 instead of 201; [^\n]+\nCreated C-1/,
    );
    assert.equal((await run("--quiet")).stderr, "");
  });
});

/** Whether the operation only reads. */
const requiresContent = ({ method, responses }: CommandSpec, status: number): boolean =>
  Object.values(responses).some((response) =>
    response.kind === "bytes"
      ? status === 204 || /^application\/(?!octet-stream)/.test(response.mediaType)
      : response.kind === "json" && method === "GET",
  );

const isPassing = ({ responses }: CommandSpec): boolean =>
  Object.values(responses).some(({ kind }) => kind === "passthrough");
