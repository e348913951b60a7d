import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { startSignedReceiver } from "../../support/cli/signed-receiver.ts";

const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as CertifyReport;

describe("mistakes that svc webhooks certify names", () => {
  it("recognizes hexadecimal digits without leading zeros, although one signature in 64 has none", async (t) => {
    const unpad = (digits: string) => digits.replace(/../g, (byte) => byte.replace(/^0/, ""));
    const { certify } = await startSignedReceiver(t, {
      isGenuine: (signature, expected) => signature === unpad(expected),
    });
    const { checks, findings } = reportOf(
      await certify(["--only", "genuine,parallel", "--skip", "parallel.stored", "--json"]),
    );
    assert.deepEqual(
      [checks.map(({ detail }) => detail), findings.map(({ mistake }) => mistake)],
      [["status 401: bad signature", "61 of 64 failed: status 401"], ["wrong-encoding"]],
    );
  });
});
