import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startBulkService } from "../../support/cli/bulk-service.ts";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";

const plan = "router map-clients rows.txt --batch-size 2 --cluster eu-1 --skip-invalid --plan-out plan.json";
const apply = "router map-clients --apply plan.json --concurrency 1";

describe("bulk job plan", () => {
  it("describes a job without sending anything and runs exactly that job without a prompt", async (t) => {
    const { svc, listRequests, service, cwd } = await createBulkFixture(t, ["a", "b", "c c", "d"]);
    const result = await svc(`${plan} --json`);
    assert.equal(result.exit, 0);
    assert.deepEqual(JSON.parse(result.stdout), {
      plan: "plan.json",
      action: "map-clients",
      cluster_id: "eu-1",
      rows: 3,
      distinct: 3,
      invalid: 1,
      first_invalid_row: 3,
      calls: 2,
      method: "POST",
      path: "/router/v1/cluster_clients/bulk",
      sample: ["a", "b", "d"],
      body: { client_ids: ["a", "b", "d"], cluster_id: "eu-1" },
    });
    assert.deepEqual(listRequests(), []);
    const { target, input, batch_size } = JSON.parse(await readFile(join(cwd, "plan.json"), "utf8"));
    assert.deepEqual([target, input.path, batch_size], [service.url, join(cwd, "rows.txt"), 2]);

    const applied = await svc(apply);
    assert.deepEqual([applied.exit, applied.stdout], [3, "Mapped 3 client IDs to eu-1\n"]);
    assert.deepEqual(listRequests(), [["a", "b"], ["d"]]);
  });

  it("is previewed by --dry-run, which sends nothing", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["a", "b", "c c", "d"]);
    const { plan: _, ...printedPlan } = JSON.parse((await svc(`${plan} --json`)).stdout);
    const { exit, stdout, stderr } = await svc(`${apply} --dry-run --json`);
    assert.deepEqual([exit, JSON.parse(stdout), stderr], [0, { dry_run: true, ...printedPlan }, ""]);
    assert.deepEqual(listRequests(), []);
  });

  it("is rejected after a change of the input file", async (t) => {
    const { svc, listRequests, write } = await createBulkFixture(t, ["a", "b"]);
    await svc(plan);
    await write("rows.txt", ["a", "x"]);
    const { exit, stderr } = await svc(apply);
    assert.equal(exit, 2);
    assert.match(stderr, /rows\.txt has changed \(4 bytes then, 4 now; SHA-256 differs\)/);
    assert.deepEqual(await svc(`${apply} --dry-run`), { exit, stdout: "", stderr });
    assert.deepEqual(listRequests(), []);
  });

  it("is rejected for another target", async (t) => {
    const { svc, listRequests, service } = await createBulkFixture(t, ["a"]);
    const otherService = await startBulkService(t);
    await svc(plan);
    const { exit, stderr } = await svc(apply, { env: { SVC_BASE_URL: otherService.url } });
    assert.equal(exit, 2);
    assert.ok(stderr.includes(`The target has changed: ${otherService.url} instead of ${service.url}.`), stderr);
    assert.deepEqual(await svc(`${apply} --dry-run`, { env: { SVC_BASE_URL: otherService.url } }), {
      exit,
      stdout: "",
      stderr,
    });
    assert.deepEqual([listRequests(), otherService.calls], [[], []]);
  });

  it("applies to the same content under another name", async (t) => {
    const { svc, listRequests, write } = await createBulkFixture(t, ["a"]);
    await svc(plan);
    await write("moved.txt", ["a"]);
    assert.equal((await svc("router map-clients moved.txt --apply plan.json")).exit, 0);
    assert.deepEqual(listRequests(), [["a"]]);
  });

  for (const [label, argv, message] of [
    [
      "the plan of another command",
      "router map-emails --apply plan.json",
      /--apply requires a plan of svc router \S+, not of svc router map-clients/,
    ],
    ["another cluster in addition to --apply", `${apply} --cluster us-1`, /--cluster cannot be used with --apply/],
    [
      "a file that is not a plan",
      "router map-clients --apply rows.txt",
      /--apply must be a file written by --plan-out: rows\.txt is not/,
    ],
    ["a missing file", "router map-clients --apply gone.json", /cannot read gone.json/],
    ["a pipe", "router map-clients - --cluster eu-1 --plan-out x.json", /standard input cannot be read twice/],
  ] as const) {
    it(`rejects ${label}`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, ["a"]);
      await svc(plan);
      const { exit, stderr } = await svc(argv, { stdin: "a\n" });
      assert.match(stderr, message);
      assert.deepEqual([exit, listRequests()], [2, []]);
    });
  }

  it("is rejected after tampering, and in the format of a newer version", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, ["a"]);
    await writeFile(join(cwd, "plan.json"), '{"version":1,"command":"map-clients"}');
    assert.match((await svc(apply)).stderr, /written by --plan-out: plan\.json is not \(scope is missing or wrong\)/);
    await svc(plan);
    const storedPlan = JSON.parse(await readFile(join(cwd, "plan.json"), "utf8"));
    await writeFile(join(cwd, "plan.json"), JSON.stringify({ ...storedPlan, batch_size: "2" }));
    assert.match(
      (await svc(apply)).stderr,
      /written by --plan-out: plan\.json is not \(batch_size is missing or wrong\)/,
    );
    await writeFile(join(cwd, "plan.json"), JSON.stringify({ ...storedPlan, version: 2 }));
    const { exit, stderr } = await svc(apply);
    assert.match(
      stderr,
      /^error: --apply: plan\.json is in format 2 of a newer svc, but this version reads format 1$/m,
    );
    assert.deepEqual([exit, listRequests()], [2, []]);
  });
});

describe("shares of one input", () => {
  it("covers every row once with any batch size", async (t) => {
    const rows = Array.from({ length: 23 }, (_, i) => `c${String(i).padStart(2, "0")}`);
    const { svc, listRequests } = await createBulkFixture(t, ["", ...rows]);
    for (const [shard, size] of [
      ["1/3", 2],
      ["2/3", 5],
      ["3/3", 100],
    ]) {
      const argv = `router map-clients rows.txt --cluster eu-1 --shard ${shard} --batch-size ${size} --quiet`;
      assert.deepEqual(await svc(argv), {
        exit: 0,
        stdout: `Mapped ${shard === "3/3" ? 7 : 8} client IDs to eu-1\n`,
        stderr: "",
      });
    }
    assert.deepEqual(listRequests().flat().sort(), rows);
  });

  it("allows an empty share if the input has fewer rows than shares", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["a", "b"]);
    const argv = "router map-clients rows.txt --cluster eu-1 --shard 3/9";
    const { exit, stdout, stderr } = await svc(`${argv} --quiet`);
    assert.deepEqual({ exit, stdout, stderr }, { exit: 0, stdout: "Mapped 0 client IDs to eu-1\n", stderr: "" });
    assert.match((await svc(argv)).stderr, /Share 3\/9 has no rows\n/);
    const result = await svc("router map-clients - --cluster eu-1 --shard 3/9 --quiet", { stdin: "a\nb\n" });
    assert.deepEqual([result.exit, result.stdout], [0, "Mapped 0 client IDs to eu-1\n"]);
    assert.deepEqual(listRequests(), []);
  });

  for (const shard of ["0/3", "4/3", "3", "a/b", "1/0"]) {
    it(`rejects the share ${shard}`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, ["a"]);
      const { exit, stderr } = await svc(`router map-clients rows.txt --cluster eu-1 --shard ${shard}`);
      const message = `error: --shard must be a share (3/16), got "${shard}"\n  See svc router map-clients --help.\n`;
      assert.deepEqual([exit, stderr], [2, message]);
      assert.deepEqual(listRequests(), []);
    });
  }
});
