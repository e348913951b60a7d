import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createExecutedImport } from "../../support/contracts.ts";

const linkFlags = ["--set", "external_metadata.id=deal-42", "--idempotent"];

describe("svc contracts create --idempotent", () => {
  it("creates a contract once and shows the contract when run again", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const create = () =>
      svc(["contracts", "create", "--data", "-", ...linkFlags, "--json=id"], { stdin: ndaContractJson });
    const first = await create();
    assert.deepEqual([first.exit, JSON.parse(first.stdout)], [0, { id: "T-1" }], first.stderr);
    assert.deepEqual(await create(), {
      exit: 0,
      stdout: first.stdout,
      stderr: "T-1 already has external_metadata.id deal-42. Nothing was created.\n",
    });
    const otherContract = [
      "contracts",
      "create",
      "--data",
      "-",
      "--set",
      "external_metadata.id=deal-43",
      "--idempotent",
    ];
    assert.equal((await json<{ id: string }>(otherContract, { stdin: ndaContractJson })).id, "T-2");
  });

  it("requires an ID for the lookup before anything is sent", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const { exit, stderr } = await svc("contracts create --data - --idempotent", { stdin: ndaContractJson });
    assert.deepEqual(
      [exit, stderr],
      [
        2,
        "error: --idempotent requires external_metadata.id\n  Set it to the ID of the record in your system: --set external_metadata.id=ID\n",
      ],
    );
    assert.equal(((await emulator.control("GET", "requests")).body as { total: number }).total, 0);
  });

  it("is suggested after a creation with an unknown outcome", async (t) => {
    const url = await startHangUpServer(t);
    const { exit, stderr } = await runCli("contracts create --data - --retries 0", {
      stdin: ndaContractJson,
      env: { SVC_BASE_URL: url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" },
    });
    assert.equal(exit, 1, stderr);
    assert.match(
      stderr,
      / The request may have taken effect\. To repeat it safely, use --idempotent, which looks up external_metadata\.id first\.\n/,
    );
  });
});

describe("svc contracts import-executed --idempotent", () => {
  it("imports a contract once and shows the contract when run again", async (t) => {
    const { svc } = await startCliEmulator(t);
    const stdin = JSON.stringify(await createExecutedImport());
    const run = () => svc(["contracts", "import-executed", "--data", "-", ...linkFlags, "--json=id"], { stdin });
    const [first, second] = [await run(), await run()];
    assert.deepEqual([first.exit, JSON.parse(first.stdout)], [0, { id: "H-1" }], first.stderr);
    assert.deepEqual(second, {
      exit: 0,
      stdout: first.stdout,
      stderr: "H-1 already has external_metadata.id deal-42. Nothing was created.\n",
    });
  });
});

/** A service that accepts a request and closes the connection. */
async function startHangUpServer(t: TestContext): Promise<string> {
  const server = createServer((request) => request.resume().on("end", () => request.socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
