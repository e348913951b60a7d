import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { createBulkFixture, createNumberedIds } from "../../support/cli/bulk-stage.ts";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const actions = { GITHUB_ACTIONS: "true" };
const createExecArguments = (text: string) => [
  "emulator",
  "exec",
  "--",
  process.execPath,
  "--input-type=module",
  "-e",
  text,
];

/** Looks up an unmapped email address and requests a contract with a wrong secret. */
const visitor = `
  const { SVC_BASE_URL: base, SVC_CLIENT_ID: id } = process.env;
  await fetch(base + "/router/v1/cluster_emails/email/nobody");
  await fetch(base + "/");
  await fetch(base + "/api/v2.1/public/contracts/?query=%0A::error::forged", {
    headers: { "client-id": id, "client-secret": "wrong" },
  });
  process.exit(3);
`;

it("says that the address of a control plane is not the address of its services", async () => {
  const { exit, stderr } = await runCli("contracts list", {
    env: { SVC_EMULATOR_URL: "http://127.0.0.1:1/_emulator" },
  });
  assert.deepEqual(
    [exit, /for all variables, run eval "\$\(svc emulator env\)"\. Or use/.test(stderr)],
    [2, true],
    stderr,
  );
});

describe("svc in GitHub Actions", () => {
  it("annotates a failure on standard error with escaped text", async () => {
    const { exit, stdout, stderr } = await runCli("contracts status T-1", { env: actions });
    assert.deepEqual([exit, stdout], [2, ""]);
    const [first, ...rest] = stderr.trimEnd().split("\n");
    assert.equal(first, "error: No service address is configured.");
    assert.match(
      rest.at(-1)!,
      /^::error title=svc%3A usage::No service address is configured\.%0ATo start an emulator/,
    );
  });

  for (const [label, argv, env] of [
    ["outside of GitHub Actions", "contracts status T-1", {}],
    ["with --no-annotations", "contracts status T-1 --no-annotations", actions],
    ["with --json, where standard error is one line of JSON", "contracts status T-1 --json", actions],
  ] as const) {
    it(`adds no annotation ${label}`, async () => {
      const { stderr } = await runCli(argv, { env });
      assert(!stderr.includes("::error"), stderr);
    });
  }

  it("summarizes an emulator that served a command and masks its secrets first", async (t) => {
    const cwd = await createTestFolder(t);
    const summary = join(cwd, "summary.md");
    await writeFile(summary, "before\n");
    const { exit, stdout, stderr } = await runCli(createExecArguments(visitor), {
      cwd,
      env: { ...actions, PATH: process.env.PATH, GITHUB_STEP_SUMMARY: summary },
    });
    assert.deepEqual([exit, stdout], [3, ""]);
    const lines = stderr.trimEnd().split("\n");
    const masks = lines.filter((line) => line.startsWith("::add-mask::"));
    assert(masks.length >= 4 && lines.slice(0, masks.length).every((line) => line.startsWith("::add-mask::")), stderr);
    const [groupStart, closed, ...group] = lines.slice(masks.length);
    assert.match(groupStart!, /^::group::.*node --input-type=module -e %0A /);
    assert.equal(closed, "::endgroup::");
    assert.match(group[0]!, /^::group::svc emulator: \d requests, \d rejected or with warnings$/);
    assert.equal(group.at(-1), "::endgroup::");
    assert(
      group.slice(1, -1).every((line) => line.startsWith("| ")),
      stderr,
    );
    assert.deepEqual(group.slice(1, -1), [
      "| 404 GET /router/v1/cluster_emails/email/nobody no-email-mapping no-cluster-key not-an-email-hash",
      "| 401 GET /api/v2.1/public/contracts/?query=%0A::error::forged wrong-credentials",
      "| 401 GET /api/v2.1/public/contracts/?query=[redacted]",
    ]);
    const text = await readFile(summary, "utf8");
    assert.match(text, /^before\n### svc emulator exec: exit 3\n/);
    assert.match(text, /\| health\.show \| 1 \| 0 \|/);
    assert.match(text, /\| contracts\.list \| 1 \| 1 \|/);
  });

  it("masks the secrets of an exported state", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const { stdout, stderr } = await svc("emulator state export", { env: actions });
    const { clientSecret } = emulator.clusters[0]!;
    assert.deepEqual([stdout.includes(clientSecret!), stderr.includes(`::add-mask::${clientSecret}\n`)], [true, true]);
  });

  it("counts all of many deliveries", async (t) => {
    const summary = join(await createTestFolder(t), "summary.md");
    const producer = `
      const { SVC_CONTRACTS_URL: base, SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: secret } = process.env;
      const post = (path, body) =>
        fetch(base + "/api/v2.1/public/" + path, {
          method: "POST",
          headers: { "client-id": id, "client-secret": secret, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      const webhook = { title: "x", url: "http://localhost:9/", only_for_activities: ["CONTRACT_CREATED"] };
      const poc_details = { first_name: "Jo", email: "jo@acme.example" };
      const counter_party_details = [{ is_individual: true, poc_details }];
      for (let i = 0; i < 51; i += 1) await post("webhooks/", webhook);
      for (let i = 0; i < 10; i += 1)
        await post("contracts/", { contract_template_id: 101, contract_data: {}, counter_party_details });
    `;
    const env = { ...actions, PATH: process.env.PATH, GITHUB_STEP_SUMMARY: summary };
    await runCli(createExecArguments(producer), { cwd: dirname(summary), env });
    assert.equal((await readFile(summary, "utf8")).split("\n")[2], "61 requests, 510 webhook deliveries (0 delivered)");
  });

  it("groups the output of a command and leaves its workflow commands active", async (t) => {
    const cwd = await createTestFolder(t);
    const { stderr } = await runCli(createExecArguments('console.error("::error file=a.js::one test failed")'), {
      cwd,
      env: { ...actions, PATH: process.env.PATH },
    });
    const annotations = stderr.split("\n").filter((line) => !line.startsWith("::add-mask::"));
    assert.deepEqual(annotations.slice(1, 3), ["::error file=a.js::one test failed", "::endgroup::"]);
    assert.match(annotations[0]!, /^::group::/);
  });

  it("sets the ID of a bulk job as an output of the step", async (t) => {
    const { svc, cwd, jobs } = await createBulkFixture(t, createNumberedIds(2));
    const output = join(cwd, "output");
    const argv = "router map-clients rows.txt --cluster eu-1";
    assert.equal((await svc(argv, { env: { ...actions, GITHUB_OUTPUT: output } })).exit, 0);
    const [id] = await readdir(jobs);
    assert.equal(await readFile(output, "utf8"), `job_id=${id}\n`);
    const unwritable = await svc(argv, { env: { ...actions, GITHUB_OUTPUT: join(cwd, "none", "output") } });
    assert.equal(unwritable.exit, 0);
    assert.match(unwritable.stderr, /^::warning title=svc::Cannot write job_id to GITHUB_OUTPUT \(ENOENT\)$/m);
  });

  it("writes no workflow output outside of GitHub Actions", async (t) => {
    const { stderr } = await runCli(createExecArguments(visitor), {
      cwd: await createTestFolder(t),
      env: { PATH: process.env.PATH },
    });
    assert.equal(stderr, "");
  });
});
