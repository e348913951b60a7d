import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { writeJson } from "../../../src/base/json.ts";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { impatientWall, type ReceiverRules, startSignedReceiver } from "../../support/cli/signed-receiver.ts";

const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as CertifyReport;
const getMistakes = ({ findings }: CertifyReport) => findings.map(({ mistake, result }) => [mistake, result]);

describe("mistakes that svc webhooks certify names", () => {
  it("recognizes hexadecimal digits without leading zeros, although one signature in 64 has none", async (t) => {
    const unpad = (digits: string) => digits.replace(/../g, (byte) => byte.replace(/^0/, ""));
    const { certify } = await startSignedReceiver(t, {
      isGenuine: (signature, expected) => signature === unpad(expected),
    });
    // Signatures depend on the time of the events.
    const wall = { ...systemWallClock, now: () => Date.parse("2027-01-02T03:04:05Z") };
    const { checks, findings } = reportOf(
      await certify(["--only", "genuine,parallel", "--skip", "parallel.stored", "--json"], { wall }),
    );
    const [genuine, parallel] = checks.map(({ detail }) => detail);
    assert.match(parallel!, /^6[0-3] of 64 failed: status 401$/);
    assert.deepEqual(
      [genuine, findings.map(({ mistake }) => mistake)],
      ["status 401: bad signature", ["wrong-encoding"]],
    );
  });

  for (const [name, rules, mistake] of [
    [
      "upper-case digits",
      { isGenuine: (signature, expected) => signature === expected.toUpperCase() },
      "wrong-encoding",
    ],
    [
      "JSON that it wrote again",
      { signed: (body) => writeJson(JSON.stringify(JSON.parse(String(body))), "spaced") },
      "reserialized-json",
    ],
  ] satisfies [string, ReceiverRules, string][])
    it(`recognizes a receiver that expects the signature of ${name}, from what it accepts`, async (t) => {
      const { certify } = await startSignedReceiver(t, rules);
      const run = await certify(["--only", "genuine,raw-body.spaced,signature", "--json"]);
      assert.deepEqual([run.exit, getMistakes(reportOf(run))], [1, [[mistake, "failed"]]]);
    });

  it("reports that a receiver does not respond to a forged delivery, and nothing else", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      handle: async ({ isGenuine, response }) => void (isGenuine && response.end()),
    });
    const run = await certify(["--only", "signature.other-key,signature.missing", "--json"], { wall: impatientWall });
    assert.deepEqual([run.exit, getMistakes(reportOf(run))], [1, [["broken-response", "failed"]]]);
  });

  it("does not take a rejected first delivery for a rejected repetition", async (t) => {
    let count = 0;
    const { certify } = await startSignedReceiver(t, {
      respond(_, response) {
        count += 1;
        response.writeHead(count === 2 ? 500 : 200).end();
      },
    });
    const run = await certify(["--only", "duplicate", "--json"]);
    assert.deepEqual([run.exit, getMistakes(reportOf(run))], [1, [["unexplained", "failed"]]]);
  });

  it("finds a limit of the age of events, which only a retry exceeds", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      respond(body, response) {
        const age = Date.now() - Date.parse(JSON.parse(body.toString("utf8")).activity_data.timestamp);
        response.writeHead(age < 0 || age > 60_000 ? 401 : 200).end();
      },
    });
    const run = await certify(["--skip", "transfer.interrupted", "--json"]);
    assert.deepEqual([run.exit, getMistakes(reportOf(run))], [1, [["late-rejected", "failed"]]]);
  });

  const parse = (body: Buffer) => JSON.parse(String(body)) as { activity_data: { timestamp: string } };

  it("names unknown fields for all events that have some", async (t) => {
    const { certify, bodies } = await startSignedReceiver(t, {
      respond(body, response) {
        const known = Object.keys(parse(bodies[0]!));
        response.writeHead(Object.keys(parse(body)).every((name) => known.includes(name)) ? 200 : 422).end();
      },
    });
    const run = await certify(["--only", "genuine,raw-body,event,signature", "--json"]);
    assert.deepEqual(getMistakes(reportOf(run)), [["unknown-fields", "failed"]]);
    const checks = ["raw-body.numbers", "raw-body.long", "event.unknown-fields"];
    assert.deepEqual(reportOf(run).findings[0]!.checks, checks);
  });

  it("names an incomplete response to an accepted event with unknown fields", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      respond(body, response) {
        if (!body.includes("added_later")) return void response.end();
        response.writeHead(200, { "content-length": 10 }).write("ok", () => response.destroy());
      },
    });
    const run = await certify(["--only", "genuine,event", "--json"]);
    assert.deepEqual([run.exit, getMistakes(reportOf(run))], [0, [["broken-response", "warning"]]]);
  });

  it("names other mistakes of a receiver whose responses are incomplete", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      respond(body, response) {
        if (body.includes("added_later")) return void response.writeHead(422).end();
        response.writeHead(200, { "content-length": 10 }).write("ok", () => response.destroy());
      },
    });
    const run = await certify(["--only", "genuine,event", "--json"]);
    assert.deepEqual(getMistakes(reportOf(run)), [
      ["broken-response", "warning"],
      ["unknown-fields", "failed"],
    ]);
  });

  it("blames the signature only for the status of rejected signatures", async (t) => {
    let count = 0;
    const { certify } = await startSignedReceiver(t, {
      respond(_, response) {
        count += 1;
        response.writeHead(count === 1 || count % 3 === 0 ? 503 : 200).end();
      },
    });
    const only = ["--only", "genuine,response.time,raw-body,header.title-case,signature"];
    const report = reportOf(await certify([...only, "--json"]));
    assert.deepEqual(getMistakes(report), [["unexplained", "failed"]]);
    const { detail } = report.checks.find(({ id }) => id === "response.time")!;
    assert.equal(detail, "the first event was not accepted: status 503");
  });

  it("names the order of events if a receiver rejects all that are older than its last one", async (t) => {
    let last = "";
    const { certify } = await startSignedReceiver(t, {
      respond(body, response) {
        const { timestamp } = parse(body).activity_data;
        response.writeHead(timestamp < last ? 400 : 200).end();
        if (timestamp > last) last = timestamp;
      },
    });
    const run = await certify(["--skip", "transfer.interrupted,parallel,outage", "--json"]);
    assert.deepEqual(getMistakes(reportOf(run)), [["order-refused", "failed"]]);
  });

  it("does not say that a signature is unchecked if the forged event is not processed", async (t) => {
    let count = 0;
    const { cwd, certify } = await startSignedReceiver(t, {
      async handle({ isGenuine, response }) {
        if (isGenuine) count += 1;
        await writeFile(join(cwd, "count"), String(count));
        response.end();
      },
    });
    const only = ["--only", "probe,signature.other-key,signature.not-processed", "--probe", "cat count"];
    const run = await certify([...only, "--json"]);
    assert.deepEqual(getMistakes(reportOf(run)), [["rejection-unreported", "failed"]]);
  });

  it("only warns about an incomplete response with a 2xx status, which the service counts as success", async (t) => {
    const { certify } = await startSignedReceiver(t, {
      respond: (_, response) =>
        void response.writeHead(200, { "content-length": 10 }).write("ok", () => response.destroy()),
    });
    const all = await certify(["--json"]);
    const one = await certify(["--only", "raw-body.spaced,raw-body.escaped", "--json"]);
    for (const run of [all, one])
      assert.deepEqual([run.exit, getMistakes(reportOf(run))], [0, [["broken-response", "warning"]]]);
  });
});
