import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

/** Creates a webhook and prints the retry schedule that the emulator reports. */
const program = `
const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_EMULATOR_TOKEN } = process.env;
const ask = async (path, headers, body) => {
  const method = body === undefined ? "GET" : "POST";
  const sent = body && { body: JSON.stringify(body) };
  return (await fetch(SVC_BASE_URL + path, { method, headers, ...sent })).json();
};
const only_for_activities = ["CONTRACT_CREATED"];
const key = { "client-id": SVC_CLIENT_ID, "client-secret": SVC_CLIENT_SECRET, "content-type": "application/json" };
await ask("/api/v2.1/public/webhooks/", key, { title: "Mine", url: "http://localhost:9/", only_for_activities });
const [{ retry_schedule }] = await ask("/_emulator/webhooks", { authorization: "Bearer " + SVC_EMULATOR_TOKEN });
console.log(retry_schedule.join(" "));
`;

describe("svc emulator exec", () => {
  it("accepts the retry schedule as a list of durations", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "ask.mjs"), program);
    const argv = ["emulator", "exec", "--retry-schedule", "30s, PT2M", "--", process.execPath, "ask.mjs"];
    const { exit, stdout } = await runCli(argv, { cwd });
    assert.deepEqual([exit, stdout], [0, "30s PT2M\n"]);
  });

  it("reports a seed that an existing state does not use", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "other.json"), JSON.stringify({ clusters: [{ id: "ap-1", label: "ap" }] }));
    const exec = async (flags: string) =>
      (await runCli(`emulator exec --file a.json ${flags} -- true`, { cwd })).stderr;
    const unused = "The seed was not used, because the state already exists.";
    assert.equal(await exec("--seed demo"), "");
    assert.equal(await exec("--clock manual"), "");
    assert.equal(await exec("--seed demo"), `${unused} To start over with the seed, run svc emulator reset.\n`);
    const other = "The seed has other clusters: to use it, name another state with --file.";
    assert.equal(await exec("--seed other.json"), `${unused} ${other}\n`);
  });

  it("reports a seed that a copy does not use", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "other.json"), JSON.stringify({ clusters: [{ id: "ap-1", label: "ap" }] }));
    const exec = async (flags: string) => (await runCli(`emulator exec ${flags} -- true`, { cwd })).stderr;
    assert.equal(await exec("--file a.json --seed demo"), "");
    assert.equal(await exec("--from a.json"), "");
    const unused = "The seed was not used, because the state already exists.";
    const reset = "To start over with the seed, run svc emulator reset.";
    assert.equal(await exec("--from a.json --seed demo"), `${unused} ${reset}\n`);
    const other = "The seed has other clusters: to use it, start without --from.";
    assert.equal(await exec("--from a.json --seed other.json"), `${unused} ${other}\n`);
  });

  it("reports a start time that an existing state does not use", async (t) => {
    const cwd = await createTestFolder(t);
    const start = "--clock manual --clock-start 2031-01-02T03:04:05Z";
    const exec = async (flags: string) => (await runCli(`emulator exec ${flags} -- true`, { cwd })).stderr;
    const reason = "The start time was not used, because the state already exists.";
    const unused = `${reason} To start over at that time, run svc emulator reset.\n`;
    assert.equal(await exec(`--file a.json ${start}`), "");
    assert.equal(await exec("--file a.json --clock manual"), "");
    assert.equal(await exec(`--file a.json ${start}`), unused);
    assert.equal(await exec(`--from a.json ${start}`), unused);
  });

  const wrong: readonly (readonly [given: string, env: Record<string, string>, flags: string, message: string])[] = [
    [
      "a retry schedule",
      {},
      "--retry-schedule 1m,soon",
      '--retry-schedule must be a duration of at most 365 days (5m, PT5M), got "soon"',
    ],
    [
      "a delay of the retry schedule",
      {},
      "--retry-schedule 1m,0s",
      '--retry-schedule must be a duration of at most 365 days (5m, PT5M), got "0s"',
    ],
    [
      "the URL of a cluster",
      {},
      "--public-url eu-1=https://h.example/eu",
      '--public-url eu-1 must be a URL without a path, got "https://h.example/eu"',
    ],
    [
      "the length of the retry schedule",
      {},
      `--retry-schedule ${Array(101).fill("1s").join(",")}`,
      "--retry-schedule must have at most 100 items",
    ],
    [
      "a folder of observations",
      {},
      "--observed /nowhere",
      "--observed: /nowhere is not a corpus: it has no index.ndjson",
    ],
    [
      "trusted proxies",
      { SVC_TRUSTED_PROXIES: "10.0.0.1,balancer" },
      "",
      'SVC_TRUSTED_PROXIES must be an address or a range (10.0.0.0/8), got "balancer"',
    ],
    ["a port", {}, "--port 65536", '--port must be a number from 0 to 65535, got "65536"'],
    ["a speed", {}, "--clock-speed fast", '--clock-speed must be a number, got "fast"'],
    [
      "a speed that is no longer exact",
      {},
      "--clock-speed 12345678901234567890",
      '--clock-speed must be a number of at most 15 digits, got "12345678901234567890"',
    ],
    ["a rate limit", { SVC_RATE_LIMIT: "-1" }, "", 'SVC_RATE_LIMIT must be at least 0, got "-1"'],
    [
      "a token",
      { SVC_EMULATOR_TOKEN: "correct horse" },
      "",
      "SVC_EMULATOR_TOKEN must be ASCII characters without blanks",
    ],
    ["a timeout", { SVC_WEBHOOK_TIMEOUT: "x" }, "", 'SVC_WEBHOOK_TIMEOUT must be a duration (30s, PT2H35M), got "x"'],
  ];
  for (const [label, env, flags, message] of wrong) {
    it(`explains the format of ${label}`, async () => {
      const { exit, stderr } = await runCli(`emulator exec ${flags} -- true`.replace(/ +/g, " "), { env });
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, `error: ${message}`]);
    });
  }
});
