import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import {
  hmacKey,
  impatientWall,
  type ReceiverRules,
  runCertify,
  startSignedReceiver,
} from "../../support/cli/signed-receiver.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";
import { startTlsService } from "../../support/cli/tls-service.ts";

const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as CertifyReport;
const getResults = ({ checks }: CertifyReport) => Object.fromEntries(checks.map(({ id, result }) => [id, result]));
const getMistakes = ({ findings }: CertifyReport) => findings.map(({ mistake, result }) => [mistake, result]);

/** The findings about a receiver with these rules. */
async function certifyAndGetFindings(t: TestContext, rules: ReceiverRules) {
  const { certify } = await startSignedReceiver(t, rules);
  const run = await certify(["--skip", "parallel,outage,transfer.interrupted", "--json"]);
  return [run.exit, getMistakes(reportOf(run))];
}

const parseBody = (body: Buffer) => JSON.parse(body.toString("utf8")) as Record<string, unknown>;

describe("svc webhooks certify", () => {
  it("finds no mistakes in a correct receiver", async (t) => {
    const { certify } = await startSignedReceiver(t);
    const run = await certify(["--json"]);
    const { result, findings, counts, checks } = reportOf(run);
    assert.deepEqual([run.exit, result, findings], [0, "passed", []]);
    const notChecked = checks.filter(({ result }) => result !== "passed");
    assert.deepEqual(counts, { passed: checks.length - 10, failed: 0, warning: 0, not_checked: 10 });
    assert.deepEqual(new Set(notChecked.map(({ detail }) => detail)), new Set(["--probe is not given"]));
  });

  it("reports the mistake of a receiver with a fix in the receiver's language", async (t) => {
    const { certify } = await startSignedReceiver(t, { signed: (body) => JSON.stringify(parseBody(body)) });
    const run = await certify(["--json", "--language", "python"]);
    assert.equal(run.exit, 1);
    assert.deepEqual(reportOf(run).findings, [
      {
        mistake: "reserialized-json",
        result: "failed",
        title: "The signature is computed over JSON that was parsed and written again",
        fix: "Compute the HMAC over the raw bytes of the body before parsing it.",
        code: "body = request.get_data() # Flask; FastAPI: await request.body()",
        checks: ["raw-body.spaced", "raw-body.escaped", "raw-body.numbers", "raw-body.indented"],
      },
    ]);
  });

  it("reports one mistake, even if it fails several checks", async (t) => {
    const undecoded = { key: hmacKey };
    assert.deepEqual(await certifyAndGetFindings(t, undecoded), [1, [["key-not-decoded", "failed"]]]);
    assert.deepEqual(await certifyAndGetFindings(t, { digest: "sha256" }), [1, [["wrong-digest", "failed"]]]);
    const both = [
      ["wrong-digest", "failed"],
      ["key-not-decoded", "failed"],
    ];
    assert.deepEqual(await certifyAndGetFindings(t, { ...undecoded, digest: "sha256" }), [1, both]);
    assert.deepEqual(await certifyAndGetFindings(t, { isGenuine: () => true }), [
      1,
      [["signature-unchecked", "failed"]],
    ]);
    assert.deepEqual(await certifyAndGetFindings(t, { isGenuine: () => false }), [1, [["header-case", "failed"]]]);
    const down: ReceiverRules = { isGenuine: () => false, rejection: 502 };
    assert.deepEqual(await certifyAndGetFindings(t, down), [1, [["unexplained", "failed"]]]);
    const throwing: ReceiverRules = { isGenuine: () => false, rejection: 500 };
    assert.deepEqual(await certifyAndGetFindings(t, throwing), [1, [["internal-error", "failed"]]]);
    const exactName: ReceiverRules = {
      respond: (_, response, { rawHeaders }) =>
        response.writeHead(rawHeaders.includes("X-SVC-WEBHOOK-CONTENT-HASH") ? 200 : 401).end(),
    };
    assert.deepEqual(await certifyAndGetFindings(t, exactName), [1, [["header-name", "failed"]]]);
    const anyCase: ReceiverRules = { isGenuine: (signature, expected) => signature?.toLowerCase() === expected };
    assert.deepEqual(await certifyAndGetFindings(t, anyCase), [0, [["case-insensitive", "warning"]]]);
    const isPrefix: ReceiverRules = {
      isGenuine: (signature, expected) => !!signature && expected.startsWith(signature),
    };
    assert.deepEqual(await certifyAndGetFindings(t, isPrefix), [1, [["prefix-comparison", "failed"]]]);
    const limited: ReceiverRules = {
      respond: (body, response) => response.writeHead(body.length > 100_000 ? 413 : 200).end(),
    };
    assert.deepEqual(await certifyAndGetFindings(t, limited), [1, [["body-limit", "failed"]]]);
    const strictStatus: ReceiverRules = {
      isGenuine: () => true,
      respond: (body, response) => response.writeHead(body.includes('"VOID"') ? 400 : 200).end(),
    };
    assert.deepEqual(await certifyAndGetFindings(t, strictStatus), [1, [["signature-unchecked", "failed"]]]);
    const moved: ReceiverRules = { respond: (_, response) => response.writeHead(302, { location: "/" }).end() };
    assert.deepEqual(await certifyAndGetFindings(t, moved), [1, [["redirect", "failed"]]]);
  });

  it("does not take other rejections for rejected signatures", async (t) => {
    const strict: ReceiverRules = { respond: (_, response) => response.writeHead(400).end('unknown field "at"\n') };
    const { certify } = await startSignedReceiver(t, strict);
    const { checks, findings } = reportOf(await certify(["--only", "genuine,signature", "--json"]));
    assert.deepEqual(
      [checks[0]!.detail, findings.map(({ mistake }) => mistake)],
      ['status 400: unknown field "at"', ["unexplained"]],
    );
    let count = 0;
    const limited: ReceiverRules = {
      respond(_, response) {
        count += 1;
        response.writeHead(count > 40 ? 429 : 200).end();
      },
    };
    assert.deepEqual(await certifyAndGetFindings(t, limited), [0, []]);
    count = 20;
    assert.deepEqual(await certifyAndGetFindings(t, { ...limited }), [1, [["rate-limited", "failed"]]]);
  });

  it("names a certificate that it rejects", async (t) => {
    const to = `${(await startTlsService(t)).replace("service.example", "localhost")}/hooks`;
    const { cwd } = await startSignedReceiver(t);
    const report = reportOf(await runCertify(cwd, to, ["--only", "genuine", "--json"]));
    assert.deepEqual(getMistakes(report), [["certificate", "failed"]]);
  });

  it("warns about a receiver that rejects a wrong signature with a server error", async (t) => {
    const crash = [["signature-crash", "warning"]];
    for (const [rejection, result, mistakes] of [
      [499, "passed", []],
      [500, "warning", crash],
      [503, "warning", crash],
    ] as const) {
      const { certify } = await startSignedReceiver(t, { rejection });
      const ids = ["signature.tampered", "signature.other-key", "signature.missing"];
      const run = await certify(["--only", ids.join(","), "--json"]);
      const results = Object.fromEntries(ids.map((id) => [id, result]));
      assert.deepEqual([run.exit, getResults(reportOf(run)), getMistakes(reportOf(run))], [0, results, mistakes]);
    }
  });

  it("runs checks selected by ID or by group", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      isGenuine: (signature, expected) => signature === undefined || signature === expected,
    });
    const run = await certify([
      "--only",
      "signature.missing,duplicate",
      "--skip",
      "duplicate.processed-once",
      "--json",
    ]);
    assert.deepEqual(getResults(reportOf(run)), {
      "signature.missing": "failed",
      duplicate: "passed",
      "duplicate.after-hang-up": "passed",
      "duplicate.other-event": "not_checked",
      "duplicate.hang-up-stored": "not_checked",
      "duplicate.at-once": "not_checked",
    });
    const result = await certify(["--only", "signature.mising"]);
    const message = '--only must be a check, got "signature.mising"';
    assert.deepEqual([result.exit, result.stderr.includes(message)], [2, true], result.stderr);
  });

  it("does not pass a receiver of which nothing was checked", async (t) => {
    const { certify } = await startSignedReceiver(t);
    const { exit, stdout, stderr } = await certify(["--only", "store,duplicate.processed-once", "--json"]);
    assert.deepEqual([exit, reportOf({ stdout }).result, stderr], [1, "failed", "Nothing was checked\n"]);
  });

  it("prints the key at a terminal and waits until the receiver has the key", async (t) => {
    const emulators = await runCli("webhooks certify --to http://localhost:9", {
      env: { SVC_CONFIG_DIR: "/nonexistent" },
    });
    assert.deepEqual(
      [emulators.exit, emulators.stderr.split("\n")[0]],
      [2, "error: --command or --hmac-key-file is required when not running interactively"],
    );
    const { url, cwd } = await startSignedReceiver(t);
    const { stderr } = await runCli(["webhooks", "certify", "--to", url, "--only", "signature.missing"], {
      ...simulateUser(["Press Enter", enterKey]),
      cwd,
      env: { SVC_CONFIG_DIR: join(cwd, "config") },
    });
    assert.match(stderr, /SVC_WEBHOOK_HMAC_KEY=[\w+/]{86}==/);
  });

  it("reports a missing receiver", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "hmac.key"), hmacKey);
    const { exit, stderr } = await runCertify(cwd, "http://127.0.0.1:9", []);
    assert.deepEqual([exit, stderr.split("\n")[0]], [75, "error: Nothing accepts connections at http://127.0.0.1:9."]);
  });

  it("reports a prerequisite check only if all selected checks depend on it", async (t) => {
    const { certify } = await startSignedReceiver(t);
    const some = await certify(["--only", "signature", "--probe", "echo same", "--json"]);
    const { checks, findings, result } = reportOf(some);
    const failedChecks = checks.filter(({ result }) => result !== "passed").map(({ id, detail }) => [id, detail]);
    assert.deepEqual(
      [some.exit, result, findings, failedChecks],
      [
        0,
        "passed",
        [],
        ["signature.forged-first", "signature.not-processed"].map((id) => [
          id,
          "the probe does not work: the output does not change within 5 s of an event",
        ]),
      ],
    );
    const all = await certify(["--only", "store,order.newest-wins", "--probe", "echo same", "--json"]);
    assert.deepEqual([all.exit, getMistakes(reportOf(all))], [1, [["probe", "failed"]]]);
    const otherReceiver = await startSignedReceiver(t, { respond: (_, response) => response.writeHead(404).end() });
    const missedChecks = await otherReceiver.certify(["--only", "signature.missing", "--json"]);
    assert.deepEqual([missedChecks.exit, getMistakes(reportOf(missedChecks))], [1, [["wrong-address", "failed"]]]);
  });

  it("accepts a receiver that handles events sequentially", async (t) => {
    let queue: Promise<unknown> = Promise.resolve();
    const { certify } = await startSignedReceiver(t, {
      respond(_, response) {
        queue = queue.then(() => systemWallClock.sleep(25)).then(() => response.end());
      },
    });
    const run = await certify(["--only", "parallel,outage", "--json"], { wall: impatientWall });
    assert.deepEqual(getResults(reportOf(run)), {
      parallel: "not_checked",
      outage: "passed",
      "parallel.stored": "not_checked",
    });
  });

  it("reports a receiver that never responds to concurrent events", async (t) => {
    let waiting = 0;
    let isBlocked = false;
    const { certify } = await startSignedReceiver(t, {
      respond(_, response) {
        waiting += 1;
        isBlocked ||= waiting > 1;
        response.once("close", () => {
          waiting -= 1;
          if (waiting === 0) isBlocked = false;
        });
        void systemWallClock.sleep(100).then(() => isBlocked || response.end());
      },
    });
    const run = await certify(["--only", "parallel,outage", "--json"], { wall: impatientWall });
    assert.deepEqual(getResults(reportOf(run)), {
      parallel: "failed",
      outage: "passed",
      "parallel.stored": "not_checked",
    });
  });

  it("repeats the last run in the folder", async (t) => {
    const { certify, cwd, url } = await startSignedReceiver(t);
    const env = { SVC_CONFIG_DIR: join(cwd, "config") };
    const last = ["webhooks", "certify", "--last", "--json"];
    assert.equal((await runCli(last, { cwd, env })).exit, 2);
    await certify(["--only", "genuine"]);
    // Without a key, it does not run.
    assert.equal((await runCli(["webhooks", "certify", "--to", "localhost:9"], { cwd, env })).exit, 2);
    const secondResult = await runCli([...last, "--language", "go"], { cwd, env });
    const { url: same, language, checks } = reportOf(secondResult);
    assert.deepEqual([secondResult.exit, same, language, checks.map(({ id }) => id)], [0, url, "go", ["genuine"]]);
  });

  it("runs no check after the time limit and exits with 1 for skipped checks", async (t) => {
    const { certify } = await startSignedReceiver(t);
    const only = ["--only", "genuine,probe,signature.missing", "--json"];
    // Each look at the clock takes a millisecond, because a fast receiver responds within one.
    let time = 0;
    const wall = { ...systemWallClock, monotonicNow: () => time++ };
    const run = await certify([...only, "--time-limit", "1ms"], { wall });
    const { checks, result } = reportOf(run);
    assert.deepEqual(
      checks.map(({ id, result, detail }) => [id, result, detail]),
      [
        ["genuine", "passed", "status 200"],
        ["probe", "not_checked", "--probe is not given"],
        ["signature.missing", "not_checked", "the time limit of 0.001 s was reached (--time-limit)"],
      ],
    );
    assert.deepEqual(
      [run.exit, result, run.stderr],
      [1, "failed", "1 check was not run because of the time limit of 0.001 s (--time-limit)\n"],
    );
  });

  it("ignores a response that the time limit interrupted", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      isGenuine: () => true,
      respond: (_, response, { headers }) => headers["x-svc-webhook-content-hash"] && response.end(),
    });
    const run = await certify(["--only", "signature.missing", "--time-limit", "500ms", "--json"]);
    assert.deepEqual(
      [run.exit, reportOf(run).checks.map(({ result, detail }) => [result, detail])],
      [1, [["not_checked", "the time limit of 0.5 s was reached (--time-limit)"]]],
    );
  });

  for (const [flags, message] of [
    [["--time-limit", "0s"], '--time-limit must be more than 0s, got "0s"'],
    [["--command", ""], "--command must not be empty"],
    [["--probe", " "], "--probe must not be empty"],
  ] as const) {
    it(`rejects ${flags.join(" ")}`, async (t) => {
      const { certify } = await startSignedReceiver(t);
      const { exit, stderr } = await certify(flags);
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, `error: ${message}`]);
    });
  }

  it("counts a forged delivery as accepted after a 200 with any body", async (t) => {
    const endless = (response: ServerResponse) => {
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
      };
      response.on("drain", write);
      write();
    };
    const broken = (response: ServerResponse) => response.write("x", () => response.destroy());
    for (const [respond, detail] of [
      [endless, "status 200, but the response is larger than 1 MiB"],
      [broken, "status 200, but the connection closed during the response"],
    ] as const) {
      const { certify } = await startSignedReceiver(t, {
        isGenuine: () => true,
        respond(_, response, request) {
          const isForged = request.headers["x-svc-webhook-content-hash"] === undefined;
          if (!isForged) return void response.end();
          response.writeHead(200);
          respond(response);
        },
      });
      const run = await certify(["--only", "genuine,signature.missing", "--json"]);
      const { checks, findings } = reportOf(run);
      assert.deepEqual(
        [run.exit, checks.map(({ result, detail }) => [result, detail]), findings.map(({ mistake }) => mistake)],
        [
          1,
          [
            ["passed", "status 200"],
            ["failed", detail],
          ],
          ["missing-accepted"],
        ],
      );
    }
  });

  it("exits on Ctrl-C", async (t) => {
    let stop = () => {};
    const { certify } = await startSignedReceiver(t, { respond: () => stop() });
    const { exit, stdout } = await certify([], {
      onStart: ({ signal }) => {
        stop = () => signal("SIGINT");
      },
    });
    assert.deepEqual([exit, stdout], [130, ""]);
  });

  it("sends each delivery as often as announced", async (t) => {
    const { certify, bodies } = await startSignedReceiver(t);
    const { checks } = reportOf(await certify(["--only", "parallel,outage", "--json"]));
    const hashes = new Set(bodies.map((body) => createHash("sha256").update(body).digest("hex")));
    assert.deepEqual(
      checks.map(({ id, deliveries }) => [id, deliveries]),
      [
        ["parallel", 64],
        ["outage", 1],
        ["parallel.stored", 0],
      ],
    );
    // The first genuine event is included.
    assert.equal(hashes.size, 66);
  });
});
