import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { contentHash } from "../../../src/schemes/webhook.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { hmacKey, startSignedReceiver } from "../../support/cli/signed-receiver.ts";

describe("output of svc webhooks certify", () => {
  it("lists the checks with the basis of each", async () => {
    const { exit, stdout } = await runCli("webhooks certify --list --json");
    const rows = JSON.parse(stdout) as Record<string, unknown>[];
    assert.equal(exit, 0);
    assert.deepEqual(rows[0], {
      id: "genuine",
      summary: "Accepts a signed event",
      basis: "specified",
      reason: "2xx is success, and everything else is retried",
      requires: null,
    });
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  });

  it("writes a report for CI servers", async (t) => {
    const { cwd, certify } = await startSignedReceiver(t, { isGenuine: () => true });
    const flags = ["--only", "signature.tampered,genuine,probe", "--report", "junit.xml", "--format", "ndjson"];
    const { exit, stdout } = await certify(flags);
    const types = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    assert.deepEqual([exit, types], [1, ["check", "check", "check", "finding", "result"]]);
    const xml = (await readFile(join(cwd, "junit.xml"), "utf8")).replaceAll(/time="[\d.]+"/g, 'time="T"');
    assert.equal(
      xml,
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" time="T">
  <testsuite name="svc webhooks certify" tests="3" failures="1" errors="0" time="T" skipped="1">
    <testcase name="genuine: Accepts a signed event" classname="webhooks.genuine" time="T"/>
    <testcase name="probe: The output of --probe shows an event, and only that" classname="webhooks.probe" time="T">
      <skipped message="--probe is not given"/>
    </testcase>
    <testcase name="signature.tampered: Rejects a body that was changed after signing" classname="webhooks.signature" time="T">
      <failure message="status 200">status 200
The signature is not checked
Compare the header with the HMAC of the body, and respond with 401 if they differ.</failure>
    </testcase>
  </testsuite>
</testsuites>
`,
    );
  });

  it("prints only the named fields, also at a terminal", async (t) => {
    const { certify } = await startSignedReceiver(t);
    const { stdout } = await certify(["--only", "genuine", "--fields", "id,result", "--no-color"], { tty: true });
    assert.equal(stdout, "ID       RESULT\ngenuine  passed\n");
  });

  it("marks findings in a GitHub Actions run", async (t) => {
    const { certify } = await startSignedReceiver(t, { isGenuine: () => true });
    const { stderr } = await certify(["--only", "signature.tampered", "--quiet"], { env: { GITHUB_ACTIONS: "true" } });
    const title = "::error title=svc%3A signature-unchecked::The signature is not checked (signature.tampered)%0A";
    assert.ok(stderr.includes(title), stderr);
  });

  it("shows a mistake to a user", async (t) => {
    const { url, certify } = await startSignedReceiver(t, { isGenuine: () => true });
    const { stdout } = await certify(["--only", "signature.tampered,genuine", "--language", "go", "--format", "table"]);
    const [first, second, , ...rest] = stdout.split("\n");
    assert.deepEqual(
      [first, second, ...rest.slice(0, 5), rest[5]?.replace(/[\d.]+ s$/, "N s")],
      [
        "passed       Accepts a signed event (genuine)",
        "failed       Rejects a body that was changed after signing (signature.tampered: status 200)",
        "The signature is not checked (signature-unchecked)",
        "  Compare the header with the HMAC of the body, and respond with 401 if they differ.",
        "  hmac.Equal([]byte(expected), []byte(given))",
        "  Checks: signature.tampered",
        "",
        `${url}: 1 passed, 1 failed, 0 warnings, 0 not checked in N s`,
      ],
    );
  });

  it("prints tab-separated rows in a pipe and the findings on standard error", async (t) => {
    const { url, certify } = await startSignedReceiver(t, { isGenuine: () => true });
    const { stdout, stderr } = await certify(["--only", "signature.tampered,genuine"]);
    assert.equal(
      stdout,
      "genuine\tpassed\tstatus 200\tspecified\t\n" +
        "signature.tampered\tfailed\tstatus 200\tspecified\tsignature-unchecked\n",
    );
    assert.deepEqual(stderr.replace(/[\d.]+ s\n$/, "N s\n").split("\n"), [
      "",
      "The signature is not checked (signature-unchecked)",
      "  Compare the header with the HMAC of the body, and respond with 401 if they differ.",
      "  Checks: signature.tampered",
      "",
      `${url}: 1 passed, 1 failed, 0 warnings, 0 not checked in N s`,
      "",
    ]);
  });

  it("sends the same bytes in each run except for their time, and writes the bytes to a folder", async (t) => {
    const { cwd, certify } = await startSignedReceiver(t);
    const runs: Record<string, string>[] = [];
    for (const folder of ["one", "two"]) {
      await certify(["--keep", folder], {
        wall: { ...systemWallClock, now: () => Date.parse("2027-01-02T03:04:05Z") },
      });
      const names = (await readdir(join(cwd, folder))).sort();
      const texts = names.map(async (name) => [name, await readFile(join(cwd, folder, name), "latin1")] as const);
      runs.push(Object.fromEntries(await Promise.all(texts)));
    }
    const [first] = runs;
    assert.deepEqual(runs, [first, first]);
    assert.deepEqual(
      Object.keys(first!).filter((name) => /^(duplicate|outage)[-.](2|json|h)/.test(name)),
      [
        "duplicate-2.headers",
        "duplicate-2.json",
        "duplicate.headers",
        "duplicate.json",
        "outage.headers",
        "outage.json",
      ],
    );
    const body = first!["raw-body.spaced.json"]!;
    const hash = contentHash(hmacKey, Buffer.from(body, "latin1"));
    const headers = `Content-Type: application/json\nX-SVC-WEBHOOK-CONTENT-HASH: ${hash}\n`;
    assert.deepEqual(
      [body.startsWith('{"activity": "CONTRACT_SIGNED", '), first!["raw-body.spaced.headers"]],
      [true, headers],
    );
    const replay = ["webhooks", "replay", "--last", "2", "--from", "one", "--to", "9", "--dry-run", "--json"];
    const rows: { delivery: string }[] = JSON.parse((await runCli(replay, { cwd })).stdout);
    const bodies = Object.keys(first!).filter((name) => name.endsWith(".json"));
    assert.deepEqual(
      rows.map(({ delivery }) => delivery),
      bodies.slice(-2).map((name) => join(cwd, "one", name)),
    );
  });
});
