import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../support/cli/nda.ts";

describe("svc contracts status --exit-status", () => {
  it("exits with 8 before execution, 0 afterwards and 1 when execution is impossible", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const _ of ["T-1", "T-2"])
      assert.equal((await svc("contracts create --data -", { stdin: ndaContractJson })).exit, 0);
    const look = async (id: string) => {
      const { exit, stdout, stderr } = await svc(`contracts status ${id} --exit-status --json=contract_status`);
      return [exit, JSON.parse(stdout).contract_status, stderr];
    };

    assert.deepEqual(await look("T-1"), [8, "DRAFT", ""]);
    await svc("contracts send T-1");
    assert.deepEqual(await look("T-1"), [8, "SIGN", ""]);
    await svc("emulator sign T-1");
    assert.deepEqual(await look("T-1"), [0, "EXECUTED", ""]);

    assert.equal((await svc("contracts void T-2 --note late --confirm T-2")).exit, 0);
    assert.deepEqual(await look("T-2"), [1, "VOIDED", ""]);
    assert.equal((await svc("contracts status T-2")).exit, 0);
  });
});
