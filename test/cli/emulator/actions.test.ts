import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { testFolder } from "../../support/cli-emulator.ts";
import { runCli } from "../../support/run-cli.ts";

const actions = { GITHUB_ACTIONS: "true" };
const script = (text: string) => ["emulator", "exec", "--", process.execPath, "--input-type=module", "-e", text];

/** Looks up an e-mail that nobody mapped, and asks for a contract with a wrong secret. */
const visitor = `
  const { SVC_BASE_URL: base, SVC_CLIENT_ID: id } = process.env;
  await fetch(base + "/router/v1/cluster_emails/email/nobody");
  await fetch(base + "/");
  await fetch(base + "/api/v2.1/public/contracts/T-1/status?x=%0A::error::forged", {
    headers: { "client-id": id, "client-secret": "wrong" },
  });
  process.exit(3);
`;

describe("under GitHub Actions", () => {
  it("a failure is an annotation as well, on standard error, escaped", async () => {
    const { exit, out, err } = await runCli("contracts status T-1", { env: actions });
    assert.deepEqual([exit, out], [2, ""]);
    const [first, ...rest] = err.trimEnd().split("\n");
    assert.equal(first, "error: It is not known where the services are.");
    assert.match(
      rest.at(-1)!,
      /^::error title=svc%3A usage::It is not known where the services are\.%0AGive --base-url/,
    );
  });

  for (const [what, argv, env] of [
    ["elsewhere", "contracts status T-1", {}],
    ["with --no-annotations", "contracts status T-1 --no-annotations", actions],
    ["under --json, where standard error is one line of JSON", "contracts status T-1 --json", actions],
  ] as const) {
    it(`there is none ${what}`, async () => {
      const { err } = await runCli(argv, { env });
      assert(!err.includes("::error"), err);
    });
  }

  it("an emulator that served a command is summed up, and its secrets are masked before anything else", async (t) => {
    const cwd = await testFolder(t);
    const summary = join(cwd, "summary.md");
    await writeFile(summary, "before\n");
    const { exit, out, err } = await runCli(script(visitor), {
      cwd,
      env: { ...actions, PATH: process.env.PATH, GITHUB_STEP_SUMMARY: summary },
    });
    assert.deepEqual([exit, out], [3, ""]);
    const lines = err.trimEnd().split("\n");
    const masks = lines.filter((line) => line.startsWith("::add-mask::"));
    assert(masks.length >= 4 && lines.slice(0, masks.length).every((line) => line.startsWith("::add-mask::")), err);
    const group = lines.slice(masks.length);
    assert.match(group[0]!, /^::group::svc emulator: \d requests, \d refused or noted$/);
    assert.equal(group.at(-1), "::endgroup::");
    assert(
      group.slice(1, -1).every((line) => line.startsWith("| ")),
      err,
    );
    assert.deepEqual(group.slice(1, -1), [
      "| 404 GET /router/v1/cluster_emails/email/nobody no-email-mapping no-cluster-key",
      "| 401 GET /api/v2.1/public/contracts/T-1/status?x=%0A::error::forged wrong-credentials",
      "| 401 GET /api/v2.1/public/contracts/T-1/status?x=%0A::error::forged",
    ]);
    const text = await readFile(summary, "utf8");
    assert.match(text, /^before\n### svc emulator exec: exit 3\n/);
    assert.match(text, /\| health\.check \| 1 \| 0 \|/);
    assert.match(text, /\| contracts\.status \| 1 \| 1 \|/);
  });

  it("nothing of it is written elsewhere", async (t) => {
    const { err } = await runCli(script(visitor), { cwd: await testFolder(t), env: { PATH: process.env.PATH } });
    assert.equal(err, "");
  });
});
