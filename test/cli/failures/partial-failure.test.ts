import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startHostileService } from "../../support/cli/hostile-service.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { startReceiver } from "../../support/receiver.ts";

interface ReportedError {
  readonly details: readonly string[];
  readonly exitCode: number;
  readonly retryable: boolean;
}

/** An emulator with a contract and two files. In `breaking`, requests fail after the first `passes`. */
async function startWithFailingService(t: TestContext) {
  const { svc, json, emulator, cwd } = await startCliEmulator(t);
  const server = await startHostileService(t);
  await json("contracts create --data -", { stdin: ndaContractJson });
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(cwd, name), name);
  const upstreams = [emulator.routerUrl, emulator.clusters[0]!.url];
  const breaking = async (passes: number, argv: readonly string[]): Promise<ReportedError> => {
    const { url } = server.endpoint({ fault: "hangs up", passes, upstreams });
    const { stdout, stderr } = await svc([...argv, "--base-url", url, "--retries", "0", "--json", "--quiet"]);
    assert.equal(stdout, "");
    return JSON.parse(stderr).error as ReportedError;
  };
  return { svc, json, emulator, breaking };
}

describe("command with several requests and a failing service", () => {
  it("reports the uploaded files", async (t) => {
    const { breaking } = await startWithFailingService(t);
    const error = await breaking(2, ["files", "upload", "a.txt", "b.txt"]);
    assert.deepEqual([error.exitCode, error.retryable, error.details.length], [1, false, 1]);
    assert.match(error.details[0]!, /^a\.txt is uploaded: [\da-f-]{36}$/);
    // The first upload failed, so there is no completed work to report.
    assert.deepEqual((await breaking(1, ["files", "upload", "a.txt", "b.txt"])).details ?? [], []);
  });

  it("reports the uploaded files if the intake is not created", async (t) => {
    const { breaking } = await startWithFailingService(t);
    const argv = ["intake", "create", "--title", "x", "--workflow-id", "201", "--file", "a.txt"];
    const error = await breaking(2, argv);
    assert.deepEqual([error.exitCode, error.details.length], [1, 1]);
    assert.match(error.details[0]!, /^a\.txt is uploaded: /);
  });

  it("reports that a contract is sent if the wait fails", async (t) => {
    const { breaking, json } = await startWithFailingService(t);
    const error = await breaking(1, ["contracts", "send", "T-1", "--wait", "executed"]);
    assert.deepEqual([error.exitCode, error.details], [75, ["T-1 was sent, but the wait for EXECUTED failed"]]);
    assert.notEqual((await json<{ contract_status: string }>("contracts status T-1")).contract_status, "DRAFT");
  });

  it("continues the wait when run again for a sent contract", async (t) => {
    const { svc } = await startWithFailingService(t);
    const result = await svc("contracts send T-1 --wait executed --wait-timeout 1s --json --quiet");
    const { code, retryable } = JSON.parse(result.stderr).error;
    assert.deepEqual([result.exit, code, retryable], [75, "wait_timeout", true]);
    const secondResult = await svc("contracts send T-1 --wait executed --wait-timeout 1s");
    assert.equal(secondResult.exit, 75);
    assert.match(secondResult.stderr, /^T-1 was already sent, waiting for EXECUTED/);
    let signed = 0;
    while ((await svc("emulator sign T-1")).exit === 0) signed += 1;
    assert.ok(signed > 0);
    assert.equal((await svc("contracts send T-1 --wait executed --json=contract_status")).exit, 0);
    const singleResult = await svc("contracts send T-1");
    assert.deepEqual(
      [singleResult.exit, /Cannot send T-1: status is EXECUTED, expected DRAFT/.test(singleResult.stderr)],
      [1, true],
    );
  });

  it("reports triggered webhooks if their responses cannot be read", async (t) => {
    const { breaking, svc } = await startWithFailingService(t);
    const app = await startReceiver(t);
    await svc(["webhooks", "create", "--title", "x", "--url", app.url, "--only-for-activities", "CONTRACT_SIGNED"]);
    const error = await breaking(1, ["webhooks", "trigger", "CONTRACT_SIGNED", "--contract", "T-1"]);
    assert.deepEqual([error.exitCode, error.details], [1, ["Sent the webhooks of T-1: deliveries 1"]]);
    assert.equal(app.received.length, 1);
  });

  it("reports how far virtual time was advanced", async (t) => {
    const { breaking, json } = await startWithFailingService(t);
    const argv = ["emulator", "wait-for", "--activity", "CONTRACT_VOIDED", "--within", "PT1H"];
    // Four requests pass: clock, state, clock and advance. The next look fails.
    const error = await breaking(4, argv);
    const { now } = await json<{ now: string }>("emulator clock");
    assert.deepEqual([error.exitCode, error.details], [1, [`Virtual time was advanced to ${now}`]]);
    assert.equal(now, "2031-01-02T04:04:05.000Z");
  });
});
