import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../support/cli/run-cli.ts";
import { startReceiver } from "../support/receiver.ts";

/** Numbers that a double would change, one for each kind of change. */
const numbers = '{"float":1.0,"big":12345678901234567890,"huge":7e12345,"small":-0,"exponent":1E2,"plain":[1,2.5,-3]}';

async function startService(t: TestContext, body: string) {
  const received = await startReceiver(t);
  received.respond((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(body));
  const cwd = await createTestFolder(t);
  const env = { SVC_BASE_URL: received.url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" };
  const svc = (argv: readonly string[], options: RunOptions = {}) => runCli(argv, { cwd, env, ...options });
  return { svc, cwd, sent: () => received.received.at(-1)!.body.toString() };
}

const createPutLine = (...flags: string[]) => ["contracts", "external-metadata", "put", "T-1", ...flags];

describe("exact numbers in JSON", () => {
  it("sends numbers of --data unchanged, next to fields of other flags", async (t) => {
    const { svc, cwd, sent } = await startService(t, "{}");
    const document = `{"external_metadata":{"id":"d","integration_name":"crm","record_type":"deal","record_data":${numbers}}}`;
    await writeFile(join(cwd, "body.json"), document);
    assert.equal((await svc(createPutLine("--data", "body.json", "--quiet"))).exit, 0);
    assert.equal(sent(), document);
    assert.equal(
      (await svc(createPutLine("--data", "body.json", "--set", "external_metadata.id=e", "--quiet"))).exit,
      0,
    );
    assert.equal(sent(), document.replace('"id":"d"', '"id":"e"'));
  });

  it("sends numbers of --set unchanged", async (t) => {
    const { svc, sent } = await startService(t, "{}");
    const fields = [
      "id=1",
      "integration_name=crm",
      "record_type=deal",
      "record_data.x=7e12345",
      "record_data.y=9007199254740993",
    ];
    const { exit } = await svc(
      createPutLine(...fields.flatMap((value) => ["--set", `external_metadata.${value}`]), "--quiet"),
    );
    assert.equal(exit, 0);
    assert.equal(
      sent(),
      '{"external_metadata":{"id":"1","integration_name":"crm","record_type":"deal","record_data":{"x":7e12345,"y":9007199254740993}}}',
    );
  });

  it("rejects inexact numbers for integer fields", async (t) => {
    const { svc } = await startService(t, "{}");
    for (const value of ["9007199254740993", "7e12345"]) {
      const { exit, stderr } = await svc(["contracts", "create", "--set", `contract_template_id=${value}`]);
      assert.deepEqual([exit, /contract-template-id/.test(stderr)], [2, true], stderr);
    }
  });

  it("prints numbers exactly like the service", async (t) => {
    const { svc } = await startService(t, `{"id":"d","record_data":${numbers}}`);
    const show = async (...flags: string[]) =>
      (await svc(["contracts", "external-metadata", "show", "T-1", "--quiet", ...flags])).stdout;
    assert.equal((await show("--json")).replace(/\s/g, ""), `{"id":"d","record_data":${numbers}}`);
    assert.equal(await show("--format", "ndjson"), `{"id":"d","record_data":${numbers}}\n`);
    assert.equal((await show()).split("\t")[2], `${numbers}\n`);
  });
});
