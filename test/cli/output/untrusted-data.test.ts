import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startHostileTextService } from "../../support/cli/hostile-text.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const env = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret-of-tests" };

describe("service data in output", () => {
  it("is quoted as one word in suggested commands", async (t) => {
    const { url } = (await startHostileTextService(t)).endpoint({
      status: 201,
      body: { id: "T-1; touch pwned $(id) 'x" },
    });
    const argv = ["contracts", "create", "--data", "-", "--base-url", url];
    const body = { contract_template_id: 1, contract_data: {}, counter_party_details: [] };
    const { exit, stderr } = await runCli(argv, { env, stdin: JSON.stringify(body) });
    assert.equal(exit, 0, stderr);
    assert.match(stderr, /Next: svc contracts send 'T-1; touch pwned \$\(id\) '\\''x' --base-url http:\S+\n$/);
  });

  it("supports more rows than the argument limit of a function call", async (t) => {
    const items = Array.from({ length: 150_000 }, (_, id) => ({ id, name: "NDA" }));
    const { url } = (await startHostileTextService(t)).endpoint({ status: 200, body: { items } });
    const { exit, stdout, stderr } = await runCli(`contracts templates list --no-input --base-url ${url}`, {
      env,
      tty: true,
    });
    assert.equal(exit, 0, stderr);
    assert.equal(stdout.split("\n").length, items.length + 2);
  });

  for (const [runner, variables] of [
    ["Azure Pipelines", { TF_BUILD: "True" }],
    ["TeamCity", { TEAMCITY_VERSION: "2026.1" }],
    ["GitHub Actions", { GITHUB_ACTIONS: "true" }],
  ] as const) {
    it(`contains no command for the runner of ${runner}`, async (t) => {
      const detail = "##vso[task.setvariable variable=x]y ##teamcity[x] ##[group]z";
      const { url } = (await startHostileTextService(t)).endpoint({ status: 422, body: { detail } });
      for (const flags of [[], ["--json"]]) {
        const argv = ["contracts", "templates", "list", "--base-url", url, "--no-annotations", ...flags];
        const { exit, stderr } = await runCli(argv, { env: { ...env, ...variables } });
        assert.deepEqual([exit, stderr.includes("task.setvariable"), /##\w*\[/.test(stderr)], [1, true, false], stderr);
      }
    });
  }
});
