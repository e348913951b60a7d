import assert from "node:assert/strict";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { BulkRequest } from "../../support/cli/bulk-service.ts";
import { createBulkFixture, createNumberedIds, type ResponseScript } from "../../support/cli/bulk-stage.ts";
import { ManualWallClock } from "../../support/clocks/manual-wall-clock.ts";
import { collectProcessWarnings } from "../../support/process-warnings.ts";

const flags = "--batch-size 2 --concurrency 1 --cluster eu-1";
const invalidFieldsResponse = { status: 422, body: { detail: [{ loc: ["body"], msg: "no", type: "x" }] } };

describe("invalid rows in a bulk job", () => {
  const mixedRows = ["a", "b b", "c", "d d", "e"];

  it("stops the job of a file before its start and saves all invalid rows", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, mixedRows);
    const { exit, stderr } = await svc(`router map-clients rows.txt ${flags} --errors-out bad.csv`);
    assert.equal(
      stderr,
      [
        "error: Cannot map 2 of 5 rows: row 2 (b b) is not a valid client ID: it contains spaces. Nothing was sent.\n",
        "  Skip invalid rows of rows.txt with --skip-invalid; they are in bad.csv.\n",
      ].join(""),
    );
    assert.deepEqual([exit, listRequests()], [2, []]);
    assert.deepEqual((await readFile(join(cwd, "bad.csv"), "utf8")).split("\r\n").slice(1), [
      "2,b b,invalid,invalid_identifier,not a valid client ID: it contains spaces,",
      "4,d d,invalid,invalid_identifier,not a valid client ID: it contains spaces,",
      "",
    ]);
    assert.equal((await svc("router jobs list --json")).stdout, "[]\n");
  });

  it("stops at an invalid row of standard input and resumes without it with --skip-invalid", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const stdin = "a\nb\nc\nd d\ne\n";
    const result = await svc(`router map-clients - ${flags}`, { stdin });
    assert.equal(result.exit, 3);
    assert.match(
      result.stderr,
      /Row 4 \(d d\) is not a valid client ID: it contains spaces\. 2 rows before it are done\./,
    );
    assert.deepEqual(listRequests(), [["a", "b"]]);
    const { exit, stdout } = await svc("router jobs resume --last - --skip-invalid", { stdin });
    assert.deepEqual([exit, stdout, listRequests()], [3, "Mapped 4 rows to eu-1\n", [["a", "b"], ["c"], ["e"]]]);
  });

  for (const [limit, exit] of [
    ["1", 2],
    ["2", 3],
    ["39%", 2],
    ["40%", 3],
  ] as const) {
    it(`tolerates invalid rows up to --max-errors ${limit}`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, mixedRows);
      const run = await svc(`router map-clients rows.txt ${flags} --max-errors ${limit}`);
      assert.deepEqual([run.exit, listRequests()], [exit, exit === 2 ? [] : [["a"], ["c"], ["e"]]]);
    });
  }

  it("stops the job of a pipe above --max-errors", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, []);
    const { exit, stderr } = await svc(`router map-clients - ${flags} --max-errors 1`, {
      stdin: "a\nb b\nc\nd d\ne\nf\n",
    });
    assert.deepEqual([exit, listRequests()], [3, [["a"], ["c"]]]);
    assert.match(
      stderr,
      /stopped\. Resume it with: svc router jobs resume job_\w+ -\nerror: 2 rows failed, more than --max-errors 1 allows\.\n/,
    );
  });

  it("requires a number or a percentage for --max-errors", async (t) => {
    const { svc } = await createBulkFixture(t, mixedRows);
    const { exit, stderr } = await svc(`router map-clients rows.txt ${flags} --max-errors few`);
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /^error: --max-errors must be a number or a percentage \(10, 2%\), got "few"\n {2}See svc .*\n$/,
    );
  });
});

describe("bulk job with rejected requests", () => {
  it("continues after one rejected batch, stores its rows and exits with 3", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(6), ({ number }) =>
      number === 2 ? invalidFieldsResponse : undefined,
    );
    const { exit, stdout, stderr } = await svc(`router map-clients rows.txt ${flags} --errors-out bad.csv`);
    assert.deepEqual([exit, stdout, listRequests().length], [3, "Mapped 4 client IDs to eu-1\n", 3]);
    assert.match(stderr, /2 rows rejected by the service/);
    const results = await svc("router jobs results --last --json --fields row,input,status");
    assert.deepEqual(JSON.parse(results.stdout), [
      { row: 3, input: "c2", status: "failed" },
      { row: 4, input: "c3", status: "failed" },
    ]);
  });

  for (const status of [400, 409, 418]) {
    it(`stops at a failure that no row causes (${status}) and can resume`, async (t) => {
      const response = { status, body: { detail: "not now" } };
      const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(6), ({ number }) =>
        number === 2 ? response : undefined,
      );
      const { exit, stderr } = await svc(`router map-clients rows.txt ${flags} --max-errors 100`);
      assert.deepEqual([exit, listRequests().length], [1, 2]);
      assert.ok(stderr.includes(`error: not now (HTTP ${status})\n`), stderr);
      assert.equal((await svc("router jobs results --last --json")).stdout, "[]\n");
      assert.equal((await svc("router jobs resume --last")).stdout, "Mapped 6 client IDs to eu-1\n");
    });
  }

  it("stops at a rejection of the first batch for reasons other than its rows", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(6), () => invalidFieldsResponse);
    const { exit, stderr } = await svc(`router map-clients rows.txt ${flags}`);
    assert.deepEqual([exit, listRequests().length], [1, 1]);
    assert.match(stderr, /stopped\. Resume it with: svc router jobs resume job_\w+\nerror: .*\(HTTP 422\)/);
  });

  it("exits with 4 at rejected credentials and resumes with other credentials", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number === 2 ? { status: 401, body: { detail: "Invalid cluster key" } } : undefined,
    );
    const { exit } = await svc(`router map-clients rows.txt ${flags}`);
    assert.equal(exit, 4);
    assert.equal((await svc("router jobs resume --last")).stdout, "Mapped 4 client IDs to eu-1\n");
    assert.deepEqual(listRequests(), [
      ["c0", "c1"],
      ["c2", "c3"],
      ["c2", "c3"],
    ]);
  });

  it("sends one key per batch and repeats the key with every attempt", async (t) => {
    const { svc, service } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number === 2 ? { status: 503 } : undefined,
    );
    await svc(`router map-clients rows.txt ${flags} --retries 0`);
    await svc("router jobs resume --last");
    const keys = service.calls.map(({ headers }) => headers["idempotency-key"]);
    const job = JSON.parse((await svc("router jobs show --last --json")).stdout).id;
    assert.deepEqual(keys, [`${job}-0`, `${job}-1`, `${job}-1`]);
  });
});

describe("input file that changes while a job reads it", () => {
  const ids = Array.from({ length: 40_000 }, (_, i) => `c${String(i).padStart(6, "0")}`);
  const laterRows = 30_000 * 8;

  for (const [label, bytes, change, isResumable] of [
    ["is cut off between rows", laterRows, { length: laterRows }, true],
    ["is cut off within a row", laterRows + 3, { length: laterRows + 3 }, true],
    ["contains an invalid row", ids.length * 8, { text: "c 00000\n" }, true],
    ["contains another row, which was sent", ids.length * 8, { text: "x000000\n" }, false],
  ] as const) {
    it(`stops the job if it ${label}, and resumes only if the sent rows are the same`, async (t) => {
      const { svc, cwd, write, listRequests } = await createBulkFixture(t, ids, async ({ number }) => {
        if (number !== 1) return undefined;
        const file = await open(join(cwd, "rows.txt"), "r+");
        if ("length" in change) await file.truncate(change.length);
        else await file.write(change.text, laterRows);
        await file.close();
        return undefined;
      });
      const run = "router map-clients rows.txt --batch-size 4000 --concurrency 1 --cluster eu-1";
      const { exit, stdout, stderr } = await svc(run);
      assert.deepEqual([exit, stdout], [3, ""]);
      const problem = `rows.txt has changed (${ids.length * 8} bytes then, ${bytes} now; SHA-256 differs)`;
      assert.ok(stderr.includes(problem), stderr);
      assert.ok(stderr.includes("Restore the file, or start a new job with the changed file.\n"), stderr);
      assert.equal((await svc("router jobs resume --last")).exit, 2);
      await write("rows.txt", ids);
      const resumed = await svc("router jobs resume --last");
      if (!isResumable) {
        assert.equal(resumed.exit, 2);
        assert.match(
          resumed.stderr,
          /The rows differ from those .*: finished rows have changed\.\n.*start a new job\.\n/,
        );
        return;
      }
      assert.deepEqual([resumed.exit, resumed.stdout], [0, "Mapped 40000 client IDs to eu-1\n"], resumed.stderr);
      assert.deepEqual(new Set(listRequests().flat()), new Set(ids));
    });
  }
});

describe("bulk job with a busy service", () => {
  /** A wall clock that advances only by sleeping and records each sleep. */
  function sleepless() {
    const slept: number[] = [];
    let now = Date.parse("2031-01-02T03:04:05Z");
    const wall = {
      now: () => now,
      monotonicNow: () => now,
      sleep: async (ms: number) => {
        slept.push(ms);
        now += ms;
      },
    };
    return { wall, slept };
  }

  it("prints no leak warning for a dozen concurrent requests", async (t) => {
    const listWarnings = collectProcessWarnings(t);
    let open = () => {};
    const all = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    const { svc } = await createBulkFixture(t, createNumberedIds(12), ({ number }) => {
      if (number === 12) open();
      return all;
    });
    const { exit, stderr } = await svc(
      "router map-clients rows.txt --batch-size 1 --concurrency 12 --cluster eu-1 --quiet",
    );
    assert.deepEqual([exit, stderr, await listWarnings()], [0, "", []]);
  });

  it("waits for Retry-After before the next request and reports the wait", async (t) => {
    const busy = { status: 429, headers: { "retry-after": "42" }, body: { detail: "slow down" } };
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number === 2 ? busy : undefined,
    );
    const { wall, slept } = sleepless();
    const { exit, stderr } = await svc(`router map-clients rows.txt ${flags}`, { wall });
    assert.deepEqual([exit, listRequests().length], [0, 3]);
    assert.ok(slept.some((ms) => ms >= 42_000));
    assert.match(stderr, /rate limited, resuming in 4[23] s/);
  });

  it("pauses all requests when one response requires a wait", async (t) => {
    const busy = { status: 429, headers: { "retry-after": "42" } };
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(8), ({ number }) =>
      number === 1 ? busy : undefined,
    );
    const wall = new ManualWallClock(Date.parse("2031-01-02T03:04:05Z"));
    const waiting = () => wall.sleeping.filter((ms) => ms >= 42_000).length;
    const run = svc("router map-clients rows.txt --batch-size 2 --concurrency 2 --cluster eu-1", { wall });
    while (waiting() < 2 && listRequests().length < 4) await setImmediate();
    const before = listRequests().length;
    await wall.pass(43_000);
    assert.deepEqual([(await run).exit, before, listRequests().length], [0, 2, 5]);
  });

  it("exits with 75 at a wait longer than --max-wait and can resume", async (t) => {
    const busy = { status: 503, headers: { "retry-after": "3600" } };
    const { svc } = await createBulkFixture(t, createNumberedIds(4), ({ number }) => (number === 2 ? busy : undefined));
    const { exit, stderr } = await svc(`router map-clients rows.txt ${flags} --json --quiet`);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([exit, error.retryable, error.exitCode], [75, true, 75]);
    assert.match(error.message, /requests a wait of 3600 s/);
    assert.equal((await svc("router jobs resume --last")).exit, 0);
  });

  it("sends a batch again if its response is lost or incomplete", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number === 1 ? { status: 200, headers: { "content-length": "99", connection: "close" } } : undefined,
    );
    const { wall } = sleepless();
    const { exit, stdout, stderr } = await svc(`router map-clients rows.txt ${flags}`, { wall });
    assert.deepEqual([exit, stdout], [0, "Mapped 4 client IDs to eu-1\n"], stderr);
    assert.deepEqual(listRequests(), [
      ["c0", "c1"],
      ["c0", "c1"],
      ["c2", "c3"],
    ]);
  });

  it("exits with 75 after all retries, also for POST", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), ({ number }) =>
      number > 1 ? { status: 503 } : undefined,
    );
    const { wall } = sleepless();
    const { exit } = await svc(`router map-clients rows.txt ${flags} --retries 2`, { wall });
    assert.deepEqual([exit, listRequests().length], [75, 4]);
  });
});

describe("bulk job with batches too large for the service", () => {
  const size = ({ body }: BulkRequest) => (body.client_ids as string[]).length;
  const acceptAtMost =
    (maxSize: number): ResponseScript =>
    (call) =>
      size(call) > maxSize ? { status: 413 } : undefined;
  const four = "router map-clients rows.txt --cluster eu-1 --batch-size 4 --concurrency 1";

  it("sends a batch in halves and splits later batches in advance", async (t) => {
    const { svc, service, listRequests } = await createBulkFixture(t, createNumberedIds(8), acceptAtMost(2));
    const { exit, stdout } = await svc(four);
    assert.deepEqual([exit, stdout], [0, "Mapped 8 client IDs to eu-1\n"]);
    assert.deepEqual(listRequests(), [
      ["c0", "c1", "c2", "c3"],
      ["c0", "c1"],
      ["c2", "c3"],
      ["c4", "c5"],
      ["c6", "c7"],
    ]);
    const keys = service.calls.map(({ headers }) => headers["idempotency-key"]!.replace(/^job_\w+-/, ""));
    assert.deepEqual(keys, ["0", "0.1", "0.2", "1.1", "1.2"]);
  });

  it("splits a batch down to the rejected row and reports that row", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), ({ body }) =>
      (body.client_ids as string[]).includes("c2") ? { status: 413, body: { detail: "too large" } } : undefined,
    );
    const { exit, stdout } = await svc(four);
    assert.deepEqual([exit, stdout], [3, "Mapped 3 client IDs to eu-1\n"]);
    assert.deepEqual(listRequests(), [["c0", "c1", "c2", "c3"], ["c0", "c1"], ["c2", "c3"], ["c2"], ["c3"]]);
    const results = await svc("router jobs results --last --json");
    assert.deepEqual(JSON.parse(results.stdout), [
      { row: 3, input: "c2", status: "failed", code: "http_413", message: "too large", moved_from: "" },
    ]);
  });

  it("sends a batch again without the rows that the service rejects by their positions", async (t) => {
    const rejectItems = (items: readonly string[], rejected: (item: string) => boolean) => {
      const detail = items.flatMap((item, i) =>
        rejected(item) ? [{ loc: ["body", "client_ids", i], msg: "bad", type: "x" }] : [],
      );
      return detail.length > 0 ? { status: 422, body: { detail } } : undefined;
    };
    for (const [rejected, failed, requests] of [
      [(item: string) => item === "c2", ["c2"], 3],
      [(item: string) => item > "c3", ["c4", "c5", "c6", "c7"], 2],
      [(item: string) => Number(item[1]) % 2 === 1, ["c1", "c3", "c5", "c7"], 4],
    ] as const) {
      const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(8), ({ body }) =>
        rejectItems(body.client_ids as string[], rejected),
      );
      assert.equal((await svc(four)).exit, 3);
      const results = await svc("router jobs results --last --json=input,status,message");
      assert.deepEqual(
        JSON.parse(results.stdout),
        failed.map((input) => ({ input, status: "failed", message: "bad" })),
      );
      assert.equal(listRequests().length, requests);
    }
  });

  it("stops if the service accepts no row", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(6), acceptAtMost(0));
    const { exit, stderr } = await svc(four);
    assert.deepEqual([exit, listRequests().length], [1, 6]);
    assert.match(
      stderr,
      /\(HTTP 413\)\.?\n {2}The request is larger than the service, or a proxy in front of it, accepts\./,
    );
  });

  it("repeats the whole batch if the job stopped between its halves", async (t) => {
    let isDown = true;
    const { svc, listRequests } = await createBulkFixture(t, createNumberedIds(4), (call) => {
      if (size(call) > 2) return { status: 413 };
      return isDown && (call.body.client_ids as string[])[0] === "c2" ? { status: 503 } : undefined;
    });
    assert.equal((await svc(`${four} --retries 0`)).exit, 75);
    isDown = false;
    assert.equal((await svc("router jobs resume --last")).stdout, "Mapped 4 client IDs to eu-1\n");
    assert.deepEqual(listRequests().slice(-2), [
      ["c0", "c1"],
      ["c2", "c3"],
    ]);
  });
});
