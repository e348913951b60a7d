import assert from "node:assert/strict";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { certifyDeviceClient, getOwnClientCommand } from "../../support/device-clients/certify.ts";

// Checks that take 30 s are in the slow suite: test/interop/device-clients.
const quick = ["--skip", "slow-down"];

describe("svc auth certify", { concurrency: 6 }, () => {
  it("finds no problems in a correct client and writes a report", async (t) => {
    const { exit, findings, rows, report, stderr } = await certifyDeviceClient(t, getOwnClientCommand("none"), quick);
    assert.deepEqual([exit, findings, rows.length], [0, {}, 14], stderr);
    assert.match(
      report,
      /<testsuite name="svc auth certify" tests="14" failures="0" errors="0" time="[\d.]+" skipped="0"/,
    );
  });

  it("closes the connection of a client that sends a body over 1 MiB", async (t) => {
    const cwd = await createTestFolder(t);
    const script = `fetch(process.env.SVC_ROUTER_URL + "/router/v1/oauth2.0/device/code/", { method: "POST", body: "x".repeat(2 ** 20 + 1) })
      .then(({ status }) => "status " + status, () => "closed")
      .then((result) => require("fs").writeFileSync("result", result));`;
    const argv = ["auth", "certify", "--only", "request.encoding", "--", process.execPath, "-e", script];
    await runCli(argv, { cwd, env: { ...process.env, SVC_CONFIG_DIR: cwd } });
    assert.equal(await readFile(join(cwd, "result"), "utf8"), "closed");
  });

  const unseen = "not_checked";
  const ofApproval = [
    "--only",
    "request",
    "--only",
    "shown",
    "--only",
    "poll",
    "--only",
    "approval",
    "--only",
    "secrets",
  ];
  const ofEnds = ["--only", "expired", "--only", "denied"];
  const ofDisturbances = ["--only", "reset", "--only", "html-503", "--only", "lost-response"];
  const mistakes: Readonly<Record<string, readonly [flags: readonly string[], exit: number, findings: object]>> = {
    query: [
      ofApproval,
      1,
      {
        "request.encoding": "failed",
        "request.fields": unseen,
        "shown.code": unseen,
        "shown.address": unseen,
        "poll.interval": unseen,
        "approval.tokens": unseen,
        "secrets.arguments": unseen,
      },
    ],
    "no-code": [ofApproval, 1, { "shown.code": "failed" }],
    "no-address": [ofApproval, 1, { "shown.address": "failed" }],
    hurry: [ofApproval, 1, { "poll.interval": "failed" }],
    "own-interval": [ofApproval, 1, { "poll.interval": "failed" }],
    "five-seconds": [["--only", "poll"], 1, { "poll.interval": "failed" }],
    "token-argument": [["--only", "secrets"], 1, { "secrets.arguments": "failed" }],
    "never-polls": [["--only", "approval"], 1, { "approval.tokens": "failed" }],
    "polls-once": [["--only", "approval"], 1, { "approval.tokens": "failed" }],
    "rejects-tokens": [ofApproval, 1, { "approval.tokens": "failed" }],
    arguments: [ofApproval, 1, { "secrets.arguments": "failed" }],
    "goes-on": [
      ofEnds,
      1,
      { "expired.stops": "failed", "expired.exit-code": unseen, "denied.stops": "failed", "denied.exit-code": unseen },
    ],
    "gives-up": [
      ["--only", "slow-down"],
      1,
      { "slow-down.added": "failed", "slow-down.for-good": unseen, "slow-down.each": unseen },
    ],
    "exit-code": [ofEnds, 0, { "expired.exit-code": "warning", "denied.exit-code": "warning" }],
    "no-retry": [ofDisturbances, 0, { "reset.continues": "warning" }],
    // A warning counts as a failure with --strict.
    "no-html": [[...ofDisturbances, "--strict"], 1, { "html-503.continues": "warning" }],
    hammering: [
      ofDisturbances,
      0,
      { "reset.continues": "warning", "html-503.continues": "warning", "lost-response.continues": "warning" },
    ],
  };
  for (const [mistake, [flags, exit, findings]] of Object.entries(mistakes)) {
    it(`reports only the mistake "${mistake}"`, async (t) => {
      const found = await certifyDeviceClient(t, getOwnClientCommand(mistake), flags);
      assert.deepEqual([found.exit, found.findings], [exit, findings], `${found.stderr}${JSON.stringify(found.rows)}`);
    });
  }

  it("assesses no behavior after an error that the client did not get", async (t) => {
    const { rows } = await certifyDeviceClient(t, getOwnClientCommand("no-client"), ["--only", "expired"]);
    const detail = "The last poll got invalid_request, not expired_token.";
    assert.deepEqual(rows, [
      { ...rows[0], id: "expired.stops", result: "not_checked", detail },
      { ...rows[1], id: "expired.exit-code", result: "not_checked", detail },
    ]);
  });

  it("reports an unknown grant type and its consequences", async (t) => {
    const { rows } = await certifyDeviceClient(t, getOwnClientCommand("grant-type"), ["--only", "request"]);
    assert.deepEqual(
      rows.map(({ id, result, detail }) => [id, result, detail]),
      [
        ["request.encoding", "passed", "All requests are form-encoded."],
        ["request.fields", "failed", 'A poll has grant_type "device_code".'],
      ],
    );
  });

  it("skips the assessment of a client that is slow or never ends", async (t) => {
    const slow = [process.execPath, "-e", "setTimeout(() => {}, 60_000)"];
    const { exit, stderr, report } = await certifyDeviceClient(t, slow, [
      "--only",
      "denied",
      "--client-timeout",
      "300ms",
    ]);
    assert.equal(exit, 1);
    assert.match(stderr, /The client requested no device code, and was still running at the end\./);
    assert.match(report, /<testsuite name="svc auth certify" tests="2" failures="2" /);
    assert.match(report, /<failure message="The client requested no device code, and was still running at the end\.">/);

    const waiting = await certifyDeviceClient(t, getOwnClientCommand("stalls"), [
      "--only",
      "reset",
      "--client-timeout",
      "6s",
    ]);
    assert.deepEqual([waiting.exit, waiting.findings], [1, { "reset.continues": "not_checked" }], waiting.stderr);
    assert.match(waiting.stderr, /^Nothing was checked$/m);
  });

  it("checks the path of the report before the client runs", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, "folder"));
    await writeFile(join(cwd, "notes.txt"), "mine");
    const client = ["sh", "-c", "touch was-run"];
    for (const [path, message] of [
      ["folder", /--report: folder is a folder, not a file/],
      ["none/report.xml", /--report: cannot write to the folder none: it does not exist/],
      ["notes.txt", /--report: notes.txt exists and was not written by this option/],
    ] as const) {
      const { exit, stdout, stderr } = await runCli(["auth", "certify", "--report", path, "--", ...client], { cwd });
      assert.deepEqual([exit, stdout], [2, ""]);
      assert.match(stderr, message);
    }
    await assert.rejects(access(join(cwd, "was-run")));
  });

  for (const [argv, message] of [
    [["auth", "certify"], /<command> is required/],
    [["auth", "certify", "--only", "slow-dwn", "--", "x"], /got "slow-dwn"\n {2}Did you mean slow-down/],
    [
      ["auth", "certify", "--only", "foo", "--", "x"],
      /^error: --only must be a check, got "foo"\n {2}try: svc auth certify --list\n$/,
    ],
    [["auth", "certify", "--client-timeout", "soon", "--", "x"], /--client-timeout must be a duration/],
    [["auth", "certify", "--only", "denied", "--", "no-such-program-here"], /Cannot run no-such-program-here/],
  ] as const) {
    it(`exits with 2 for svc ${argv.join(" ")}`, async () => {
      const { exit, stdout, stderr } = await runCli(argv, { cwd: process.cwd() });
      assert.deepEqual([exit, stdout], [2, ""], stderr);
      assert.match(stderr, message);
    });
  }

  it("lists the checks with their basis", async () => {
    const { exit, stdout } = await runCli(["auth", "certify", "--list", "--json", "--only", "slow-down"]);
    assert.equal(exit, 0);
    assert.deepEqual(
      (JSON.parse(stdout) as { id: string; basis: string }[]).map(({ id, basis }) => [id, basis]),
      [
        ["slow-down.added", "RFC 8628, 3.5"],
        ["slow-down.for-good", "RFC 8628, 3.5"],
        ["slow-down.each", "RFC 8628, 3.5"],
      ],
    );
  });
});

describe("svc auth certify on a busy machine", () => {
  it("assesses no wait that it measured too imprecisely", async (t) => {
    // The first poll arrives after 0.2 s, and is noticed after two seconds.
    const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
    process.on("SIGWINCH", block);
    t.after(() => process.off("SIGWINCH", block));
    const { rows } = await certifyDeviceClient(t, getOwnClientCommand("blocks"), ["--only", "poll"]);
    const [{ result, detail }] = rows as [(typeof rows)[number]];
    assert.equal(result, "not_checked");
    assert.match(detail, /^This machine was busy: a wait took between [\d.]+ and [\d.]+ s\.$/);
  });
});
