import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock, type WallClock } from "../../../src/base/clock.ts";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { type GuardedRequest, hmacKey, impatientWall, startSignedReceiver } from "../../support/cli/signed-receiver.ts";

/** Whether the process runs. A zombie does not count. */
function isAlive(pid: string): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as CertifyReport;
const getResults = ({ checks }: CertifyReport) => Object.fromEntries(checks.map(({ id, result }) => [id, result]));
const getMistakes = ({ findings }: CertifyReport) => findings.map(({ mistake, result }) => [mistake, result]);

/** A wall clock that runs four times as fast. */
const wall: WallClock = {
  ...systemWallClock,
  monotonicNow: () => 4 * systemWallClock.monotonicNow(),
  sleep: (ms, signal, how) => systemWallClock.sleep(ms / 4, signal, how),
};

/** Returns false for a key that was added before. */
const addNew = (keys: Set<string>, key: string): boolean => keys.size < keys.add(key).size;

/** Replaces a file in one step, so that a probe never reads it while it is empty. */
function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

describe("svc webhooks certify --probe", { concurrency: 4 }, () => {
  it("uses a probe for checks that responses cannot show", async (t) => {
    const { cwd, bodies, certify } = await startSignedReceiver(t, {
      respond(_, response) {
        replaceFile(join(cwd, "count"), String(bodies.length));
        response.end();
      },
    });
    replaceFile(join(cwd, "count"), "0");
    const only = ["--only", "probe,store,duplicate.processed-once,signature.not-processed", "--json"];
    const run = await certify([...only, "--probe", "cat count"]);
    assert.deepEqual(getResults(reportOf(run)), {
      probe: "passed",
      "store.before-response": "passed",
      "duplicate.processed-once": "failed",
      "signature.not-processed": "passed",
    });
    assert.deepEqual(getMistakes(reportOf(run)), [["no-dedupe", "failed"]]);
    const restless = reportOf(await certify([...only, "--probe", "date +%N"]));
    assert.deepEqual(getMistakes(restless), [["probe", "failed"]]);
    const broken = await certify([...only, "--probe", "exit 3"]);
    assert.deepEqual(
      [broken.exit, JSON.parse(broken.stderr).error.message],
      [1, "The command of --probe exits with 3."],
    );
  });

  it("names the mistake of a receiver that rejects every event and has no file for the probe yet", async (t) => {
    const { certify } = await startSignedReceiver(t, { key: hmacKey });
    const { exit, stdout } = await certify(["--skip", "parallel,outage", "--probe", "cat events.jsonl", "--json"]);
    const report = reportOf({ stdout });
    assert.deepEqual([exit, getMistakes(report)], [1, [["key-not-decoded", "failed"]]]);
    assert.equal(getResults(report).probe, "not_checked");
  });

  for (const [label, failureCount, probe, store] of [
    ["repeats the event of the check of the probe if it is rejected once", 1, "passed", "passed"],
    ["fails if the event of the check of the probe is rejected twice", 2, "failed", "not_checked"],
  ] as const) {
    it(label, async (t) => {
      let rejectedCount = 0;
      const { cwd, bodies, certify } = await startSignedReceiver(t, {
        respond(_, response) {
          // The command of the probe first runs after the checks without it.
          const isRejected = existsSync(join(cwd, "probed")) && rejectedCount < failureCount;
          if (isRejected) rejectedCount += 1;
          replaceFile(join(cwd, "count"), String(bodies.length));
          response.writeHead(isRejected ? 503 : 200).end();
        },
      });
      replaceFile(join(cwd, "count"), "0");
      const run = await certify(["--only", "probe,store", "--probe", "touch probed; cat count", "--json"]);
      assert.deepEqual(
        [run.exit, getMistakes(reportOf(run)), getResults(reportOf(run))],
        [
          failureCount - 1,
          failureCount === 1 ? [] : [["unexplained", "failed"]],
          { probe, "store.before-response": store },
        ],
      );
    });
  }

  it("passes a receiver that has stored the events of an earlier run", async (t) => {
    const stored = new Set<string>();
    const { cwd, certify } = await startSignedReceiver(t, {
      respond(body, response) {
        replaceFile(join(cwd, "count"), String(stored.add(body.toString()).size));
        response.end();
      },
    });
    replaceFile(join(cwd, "count"), "0");
    for (const _ of ["first", "second"]) {
      const run = await certify(["--only", "probe,store,duplicate", "--probe", "cat count", "--json"]);
      assert.deepEqual([run.exit, new Set(Object.values(getResults(reportOf(run))))], [0, new Set(["passed"])]);
    }
  });

  it("attributes late changes of the output to the events that caused them", async (t) => {
    const bodies = new Set<string>();
    let processed = 0;
    /** Stores an event, and marks it as processed after the response. */
    const { cwd, certify } = await startSignedReceiver(t, {
      respond(body, response) {
        const isNew = bodies.size < bodies.add(String(body)).size;
        const store = () => replaceFile(join(cwd, "events"), `${bodies.size} events, ${processed} processed`);
        store();
        response.end();
        if (isNew) {
          setTimeout(() => {
            processed += 1;
            store();
          }, 250);
        }
      },
    });
    replaceFile(join(cwd, "events"), "");
    const only = ["--only", "probe,store,duplicate.processed-once,signature.not-processed", "--json"];
    const run = await certify([...only, "--probe", "cat events", "--time-limit", "2m"]);
    assert.deepEqual(getResults(reportOf(run)), {
      probe: "passed",
      "store.before-response": "passed",
      "duplicate.processed-once": "passed",
      "signature.not-processed": "passed",
    });
  });

  it("fails a receiver that processes forged and repeated events seconds after its response", async (t) => {
    let count = 0;
    const { cwd, certify } = await startSignedReceiver(t, {
      async handle({ isGenuine, response }) {
        response.writeHead(isGenuine ? 200 : 401).end();
        await wall.sleep(2_800);
        count += 1;
        replaceFile(join(cwd, "count"), String(count));
      },
    });
    replaceFile(join(cwd, "count"), "0");
    const only = ["--only", "probe,duplicate.processed-once,signature.not-processed"];
    const run = await certify([...only, "--probe", "cat count", "--time-limit", "5m", "--json"], { wall });
    assert.deepEqual(getResults(reportOf(run)), {
      probe: "passed",
      "duplicate.processed-once": "failed",
      "signature.not-processed": "failed",
    });
  });

  it("finds a receiver that stores only some events before it responds", async (t) => {
    let count = 0;
    const { cwd, certify } = await startSignedReceiver(t, {
      respond(_, response) {
        count += 1;
        const store = () => replaceFile(join(cwd, "count"), String(count));
        if (count % 2 === 1) return void response.end(() => setTimeout(store, 1_500));
        store();
        response.end();
      },
    });
    replaceFile(join(cwd, "count"), "0");
    const run = await certify(["--only", "store", "--probe", "cat count", "--json"]);
    const checks = reportOf(run).checks.map(({ id, result, detail }) => [id, result, detail]);
    assert.deepEqual(checks, [["store.before-response", "failed", "an event was stored only after the response"]]);
  });

  const hash = (body: Buffer) => createHash("sha256").update(body).digest("hex");
  const contractOf = (body: Buffer) => String((JSON.parse(body.toString()) as { contract_id: number }).contract_id);
  type StoreRule = (seen: Set<string>, request: GuardedRequest) => boolean;
  const lossyReceivers: readonly (readonly [check: string, mistake: string, result: string, stores: StoreRule])[] = [
    [
      "duplicate.other-event",
      "dedupe-too-wide",
      "warning",
      (seen, { body, isGenuine }) => isGenuine && addNew(seen, contractOf(body)),
    ],
    [
      "duplicate.hang-up-stored",
      "lost-after-hang-up",
      "failed",
      (seen, { body, isGenuine, response }) => isGenuine && addNew(seen, hash(body)) && !response.destroyed,
    ],
    [
      "signature.forged-first",
      "deduped-unverified",
      "failed",
      (seen, { body, isGenuine }) => addNew(seen, hash(body)) && isGenuine,
    ],
    ["duplicate,signature", "", "", (seen, { body, isGenuine }) => isGenuine && addNew(seen, hash(body))],
  ];
  for (const [check, mistake, result, stores] of lossyReceivers) {
    it(`finds ${mistake || "no mistake"} in a receiver that accepts every event and stores only some`, async (t) => {
      const seen = new Set<string>();
      let count = 0;
      const { cwd, certify } = await startSignedReceiver(t, {
        async handle(request) {
          // Several turns of the event loop, since a busy process can notice the end of a connection late.
          for (let turn = 0; turn < 10 && !request.response.destroyed; turn += 1)
            await new Promise((resolve) => setTimeout(resolve, 30));
          if (stores(seen, request)) count += 1;
          replaceFile(join(cwd, "count"), String(count));
          request.response.writeHead(request.isGenuine ? 200 : 401).end();
        },
      });
      replaceFile(join(cwd, "count"), "0");
      const argv = ["--only", `probe,${check}`, "--probe", "cat count", "--json", "--time-limit", "2m"];
      assert.deepEqual(getMistakes(reportOf(await certify(argv))), mistake === "" ? [] : [[mistake, result]]);
    });
  }

  it("ends the processes of the --probe command", async (t) => {
    const { certify, cwd } = await startSignedReceiver(t);
    const probe = "sleep 1000 > /dev/null & echo $! >> pids; wait";
    const { stderr } = await certify(["--only", "probe", "--probe", probe, "--json"], { wall: impatientWall });
    assert.equal(JSON.parse(stderr).error.message, "The command of --probe takes more than 5 s.");
    await certify(["--only", "genuine,probe", "--probe", probe.replace("wait", "echo 1"), "--json"]);
    const pids = (await readFile(join(cwd, "pids"), "utf8")).trim().split("\n");
    assert.ok(pids.length >= 2);
    // A killed process disappears with a delay.
    while (pids.some(isAlive)) await systemWallClock.sleep(10);
  });
});
