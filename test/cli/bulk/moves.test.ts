import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { createBulkFixture, createNumberedIds, type ResponseScript } from "../../support/cli/bulk-stage.ts";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";

/** An environment that names the router without the control plane of the emulator. */
const asReal = { SVC_EMULATOR_URL: undefined, SVC_EMULATOR_TOKEN: undefined };

/** Starts an emulator that maps ada and bob to us-1. */
async function startWithMappedEmails(
  t: Parameters<typeof startCliEmulator>[0],
): Promise<CliEmulator & { listOwners(): Promise<unknown[]> }> {
  const cli = await startCliEmulator(t);
  await cli.svc("router map-emails - --cluster us-1", { stdin: "ada@x.example\nbob@x.example\n" });
  const clusterOf = async (name: string) => {
    const { exit, stdout } = await cli.svc(`router show-email ${name}@x.example --json`);
    return exit === 0 ? JSON.parse(stdout).cluster_id : null;
  };
  return { ...cli, listOwners: () => Promise.all(["ada", "bob", "cleo"].map(clusterOf)) };
}

const stdin = "ada@x.example\nbob@x.example\ncleo@x.example\n";

describe("undo of moved identifiers", () => {
  it("restores the moves recorded with --results all", async (t) => {
    const { svc, listOwners, cwd } = await startWithMappedEmails(t);
    const line = "router map-emails - --cluster eu-1 --results all --report report.csv";
    for (const env of [asReal, {}]) {
      await svc("router map-emails - --cluster us-1", { stdin: "ada@x.example\nbob@x.example\n" });
      const result = await svc(line, { stdin, env });
      const [id = ""] = /job_\w+/.exec(result.stderr) ?? [];
      assert.equal(result.exit, 0, result.stderr);
      assert.deepEqual(await listOwners(), ["eu-1", "eu-1", "eu-1"]);
      const { stdout } = await svc(`router jobs results ${id} --json=input,moved_from`);
      assert.deepEqual(JSON.parse(stdout), [
        { input: "ada@x.example", moved_from: "us-1" },
        { input: "bob@x.example", moved_from: "us-1" },
        { input: "cleo@x.example", moved_from: "" },
      ]);
      const report = await readFile(join(cwd, "report.csv"), "utf8");
      assert.match(report, /\r\nRows,moved from another cluster,2\r\n/);
      assert.match(report, /\r\nMoved rows by previous cluster,us-1,2\r\n$/);

      assert.match((await svc(`router jobs undo ${id}`, { env })).stderr, /--yes required/);
      const names = ["SVC_BASE_URL", "SVC_ROUTER_URL", "SVC_CONTRACTS_URL", "SVC_EMULATOR_URL"];
      const nowhere = Object.fromEntries(names.map((name) => [name, undefined]));
      const lost = await svc(`router jobs undo ${id} --yes`, { env: { ...env, ...nowhere } });
      assert.match(
        lost.stderr,
        /^error: No service address is configured\. The job sends to http:[^ ]+\.\n.*--base-url/,
      );
      const undone = await svc(`router jobs undo ${id} --yes`, { env });
      assert.deepEqual([undone.exit, undone.stdout], [0, "Mapped 2 e-mails to us-1\n"], undone.stderr);
      assert.deepEqual(await listOwners(), ["us-1", "us-1", "eu-1"]);
    }
  });

  for (const isResumed of [false, true]) {
    const when = isResumed ? "after a resume" : "of a stopped job";
    it(`restores batches that were carried out without a response, ${when}`, async (t) => {
      const rows = ["c-1", "c-2", "c-3", "c-4", "c-5"];
      const owners: Record<string, string> = { "c-1": "us-1", "c-2": "us-1", "c-3": "us-1" };
      const { svc } = await createBulkFixture(
        t,
        rows,
        ({ body, number }) => {
          for (const id of body.client_ids as string[]) owners[id] = body.cluster_id as string;
          return number === 2 ? { status: 503 } : undefined;
        },
        owners,
      );
      const line =
        "router map-clients rows.txt --cluster eu-1 --results all --batch-size 2 --concurrency 1 --retries 0";
      const [id = ""] = /job_\w+/.exec((await svc(line)).stderr) ?? [];
      assert.deepEqual(owners, { "c-1": "eu-1", "c-2": "eu-1", "c-3": "eu-1", "c-4": "eu-1" });
      if (isResumed) {
        const resumeResult = await svc(`router jobs resume ${id} --json`);
        assert.deepEqual([resumeResult.exit, JSON.parse(resumeResult.stdout).moved], [0, 3], resumeResult.stderr);
        const results = JSON.parse((await svc(`router jobs results ${id} --json=moved_from`)).stdout);
        assert.deepEqual(
          results,
          ["us-1", "us-1", "us-1", "", ""].map((moved_from) => ({ moved_from })),
        );
      }
      const undone = await svc(`router jobs undo ${id} --yes`);
      assert.deepEqual([undone.exit, undone.stdout], [0, "Mapped 3 client IDs to us-1\n"], undone.stderr);
      const restored = { "c-1": "us-1", "c-2": "us-1", "c-3": "us-1", "c-4": "eu-1" };
      assert.deepEqual(owners, { ...restored, ...(isResumed && { "c-5": "eu-1" }) });
    });
  }

  describe("count of moved identifiers", () => {
    /** A service that moves each identifier once. `respond` can replace the response to a request. */
    async function createCountingFixture(t: TestContext, respond: ResponseScript) {
      const moved = new Set<string>();
      return createBulkFixture(t, createNumberedIds(6), async (call) => {
        const before = moved.size;
        for (const id of call.body.client_ids as string[]) moved.add(id);
        const headers = { "x-svc-moved": String(moved.size - before) };
        return (await respond(call)) ?? { status: 200, headers };
      });
    }
    const line = "router map-clients rows.txt --cluster eu-1 --batch-size 2 --concurrency 1 --json";
    const resume = "router jobs resume --last --json";

    it("is omitted if a response was lost", async (t) => {
      const { svc } = await createCountingFixture(t, ({ number }) => (number === 2 ? { status: 503 } : undefined));
      assert.equal(JSON.parse((await svc(line)).stdout).moved, null);
    });

    it("is omitted if the job stopped before a response", async (t) => {
      const { svc } = await createCountingFixture(t, ({ number }) => (number === 2 ? { status: 503 } : undefined));
      assert.equal((await svc(`${line} --retries 0`)).exit, 75);
      assert.equal(JSON.parse((await svc(resume)).stdout).moved, null);
      const [job] = JSON.parse((await svc("router jobs list --json=rows,moved")).stdout);
      assert.deepEqual(job, { rows: 6, moved: null });
    });

    it("is omitted if the process was killed with requests in flight", async (t) => {
      const fixture = await createCountingFixture(t, async ({ number }) => {
        const filter = (path: string) => !basename(path).startsWith("lock");
        if (number === 2)
          await cp(join(fixture.cwd, "state"), join(fixture.cwd, "killed"), { recursive: true, filter });
        return undefined;
      });
      const { svc, cwd } = fixture;
      assert.equal(JSON.parse((await svc(line)).stdout).moved, 6);
      const env = { SVC_STATE_DIR: join(cwd, "killed") };
      const resumed = JSON.parse((await svc(resume, { env })).stdout);
      assert.deepEqual([resumed.rows, resumed.moved], [6, null]);
    });
  });

  it("records previous clusters only of mapped identifiers", async (t) => {
    const { svc } = await startWithMappedEmails(t);
    const unmapped = await svc("router unmap-emails - --cluster us-1 --confirm us-1 --results all", { stdin });
    assert.equal(unmapped.exit, 0, unmapped.stderr);
    const { stdout } = await svc("router jobs results --last --json=moved_from");
    assert.deepEqual(JSON.parse(stdout), Array(3).fill({ moved_from: "" }));
    const help = (await svc("router unmap-emails --help")).stdout.replace(/\s+/g, " ");
    assert.ok(help.includes("all adds the previous cluster of mapped identifiers, if it can be looked up"), help);
  });

  it("skips identifiers that were mapped again later and runs only once", async (t) => {
    const { svc, listOwners } = await startWithMappedEmails(t);
    const { stderr } = await svc("router map-emails - --cluster eu-1 --results all", { stdin });
    const [id = ""] = /job_\w+/.exec(stderr) ?? [];
    await svc("router map-emails --email-hash-list ada@x.example --cluster us-1");
    const undone = await svc(`router jobs undo ${id} --yes`);
    assert.equal(undone.stderr.split("\n")[0], "1 e-mail no longer mapped to eu-1: unchanged");
    assert.deepEqual([undone.exit, await listOwners()], [0, ["us-1", "us-1", "eu-1"]]);
    const secondResult = await svc(`router jobs undo ${id} --yes`);
    assert.deepEqual([secondResult.exit, secondResult.stdout], [0, ""]);
    assert.match(secondResult.stderr, / moved nothing that is still mapped to eu-1\n$/);
  });

  it("rejects a job without recorded moves", async (t) => {
    const { svc } = await startWithMappedEmails(t);
    await svc("router map-emails - --cluster eu-1", { stdin });
    const { exit, stderr } = await svc("router jobs undo --last --yes");
    assert.equal(exit, 1);
    assert.match(stderr, /^error: job_\w+ did not record previous clusters\.$/m);
  });

  it("requires a confirmation at a terminal for a real service", async (t) => {
    const hashes = { [hashEmail("ada@x.example")]: "us-1", [hashEmail("bob@x.example")]: "eu-1" };
    const { svc, service } = await createBulkFixture(
      t,
      ["ada@x.example", "bob@x.example", "cleo@x.example"],
      undefined,
      hashes,
    );
    const question = "Move 1 e-mail to eu-1 (1 of us-1)?";
    for (const line of [
      "router map-emails rows.txt --cluster eu-1",
      "router map-emails --email-hash-list ada@x.example --cluster eu-1",
    ]) {
      const before = service.calls.length;
      const unsure = simulateUser([question, `n${enterKey}`]);
      const declined = await svc(line, unsure);
      assert.deepEqual([declined.exit, unsure.waiting(), service.calls.length], [1, [], before], declined.stderr);
      const sure = simulateUser([question, `y${enterKey}`]);
      assert.deepEqual([(await svc(line, sure)).exit, sure.waiting(), service.calls.length], [0, [], before + 1]);
      assert.deepEqual([(await svc(`${line} --yes`, { tty: true })).exit, service.calls.length], [0, before + 2]);
      assert.deepEqual([(await svc(line)).exit, service.calls.length], [0, before + 3]);
    }
    const stays = await svc("router map-emails --email-hash-list bob@x.example --cluster eu-1", { tty: true });
    assert.equal(stays.exit, 0, stays.stderr);
  });

  it("limits the confirmation to the first identifiers, and mentions the later ones", async (t) => {
    const emails = Array.from({ length: 501 }, (_, i) => `${i}@x.example`);
    const hashes = Object.fromEntries(emails.map((email) => [hashEmail(email), "us-1"]));
    const { svc } = await createBulkFixture(t, emails, undefined, hashes);
    const question = "Move 500 of the first 500 e-mails, and any later ones, to eu-1 (500 of us-1)?";
    const user = simulateUser([question, `n${enterKey}`]);
    const { exit } = await svc("router map-emails rows.txt --cluster eu-1", user);
    assert.deepEqual([exit, user.waiting()], [1, []]);
  });
});

describe("--verify", () => {
  it("looks up mapped and removed identifiers", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const env of [asReal, {}]) {
      const result = await svc("router map-emails - --cluster eu-1 --verify", { stdin, env });
      assert.deepEqual([result.exit, result.stderr.split("\n")[1]], [0, "Looked up: 3 rows are mapped to eu-1"]);
      const removed = await svc("router unmap-emails - --cluster eu-1 --confirm eu-1 --verify", { stdin, env });
      assert.deepEqual([removed.exit, removed.stderr.split("\n")[1]], [0, "Looked up: 3 rows are not mapped to eu-1"]);
    }
  });

  it("maps identifiers that a path cannot contain, and counts them as not looked up", async (t) => {
    const { svc } = await startCliEmulator(t);
    const options = { stdin: "c-1\na/b\n..\n", env: asReal };
    const { exit, stdout } = await svc("router map-clients - --cluster eu-1 --verify --results all --json", options);
    const { rows, verified, unverified } = JSON.parse(stdout);
    assert.deepEqual({ exit, rows, verified, unverified }, { exit: 0, rows: 3, verified: 1, unverified: 2 });
  });

  it("counts confirmed but missing changes as failed", async (t) => {
    const { svc } = await createBulkFixture(t, ["c-1", "c-2", "c-3"], undefined, { "c-1": "eu-1", "c-2": "us-1" });
    const { exit, stdout } = await svc("router map-clients rows.txt --cluster eu-1 --verify --json");
    const { rows, failed, verified, unverified } = JSON.parse(stdout);
    assert.deepEqual(
      { exit, rows, failed, verified, unverified },
      { exit: 3, rows: 1, failed: 2, verified: 1, unverified: 0 },
    );
    const results = JSON.parse((await svc("router jobs results --last --json=input,status,code,message")).stdout);
    const failure = (input: string, location: string) => ({
      input,
      status: "failed",
      code: "not_verified",
      message: `${location} when looked up`,
    });
    assert.deepEqual(results, [failure("c-2", "mapped to us-1"), failure("c-3", "not mapped")]);
  });

  it("counts the rows of all runs of a resumed job", async (t) => {
    const rows = ["c-1", "c-2", "c-3", "c-4"];
    const owners = Object.fromEntries(rows.map((row) => [row, "eu-1"]));
    const failsOnce = ({ number }: { number: number }) => (number === 2 ? { status: 503 } : undefined);
    const { svc } = await createBulkFixture(t, rows, failsOnce, owners);
    const line = "router map-clients rows.txt --cluster eu-1 --verify --batch-size 2 --concurrency 1 --retries 0";
    assert.equal((await svc(line)).exit, 75);
    const { exit, stdout } = await svc("router jobs resume --last --json");
    const { verified, unverified, rows: done } = JSON.parse(stdout);
    assert.deepEqual({ exit, done, verified, unverified }, { exit: 0, done: 4, verified: 4, unverified: 0 });
  });

  it("finds external integrations of an emulator by the IDs of their rows", async (t) => {
    const { svc } = await startCliEmulator(t);
    const line = "router map-external-integrations - --integration-type CHAT_B --results all";
    const stdin = "x\nCHAT_B:y\n";
    const result = await svc(`${line} --cluster us-1 --verify`, { stdin });
    assert.deepEqual(
      [result.exit, result.stderr.split("\n")[1]],
      [0, "Looked up: 2 rows are mapped to us-1"],
      result.stderr,
    );
    const [id = ""] = /job_\w+/.exec((await svc(`${line} --cluster eu-1`, { stdin })).stderr) ?? [];
    const { stdout } = await svc(`router jobs results ${id} --json=input,moved_from`);
    assert.deepEqual(JSON.parse(stdout), [
      { input: "x", moved_from: "us-1" },
      { input: "CHAT_B:y", moved_from: "us-1" },
    ]);
  });

  it("queries every table of an emulator and rejects a service without a lookup", async (t) => {
    const { svc } = await startCliEmulator(t);
    const line = "router map-creator-tokens - --cluster eu-1 --verify";
    const { exit, stderr } = await svc(line, { stdin: "tok-1\n" });
    assert.deepEqual([exit, stderr.split("\n")[1]], [0, "Looked up: 1 row is mapped to eu-1"]);
    const result = await svc(line, { stdin: "tok-2\n", env: asReal });
    assert.equal(result.exit, 2);
    assert.match(
      result.stderr,
      /^error: --verify cannot be used with map-creator-tokens: the service cannot look up creator invite tokens$/m,
    );
    const rows = "client c-1\ncreator-token tok-1\nexternal-integration CHAT_B:x\n";
    const offboard = "router offboard eu-1 --from - --confirm eu-1 --verify";
    const withoutFlag = await svc(offboard, { stdin: rows });
    assert.deepEqual(
      [withoutFlag.exit, withoutFlag.stderr.split("\n")[1]],
      [0, "Looked up: 3 rows are not mapped to eu-1"],
    );
    const part = await svc(offboard, { stdin: rows, env: asReal });
    assert.deepEqual(
      [part.exit, part.stderr.split("\n").slice(1, 3)],
      [0, ["Looked up: 1 row is not mapped to eu-1", "2 rows cannot be looked up"]],
    );
  });
});
