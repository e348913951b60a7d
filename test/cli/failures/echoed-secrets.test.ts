import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startReceiver } from "../../support/receiver.ts";

const secret = "creator-northwind";

describe("secret in a request path", () => {
  for (const flags of ["--verbose", "--debug", "--json", "--json --debug"]) {
    it(`is hidden on standard error with ${flags}, even if the service echoes the secret`, async (t) => {
      const service = await startReceiver(t);
      service.respond(({ url }, response) => {
        const detail = `No invite ${secret} at ${url}`;
        response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
      });
      const line = `invites contract creator ${secret} --base-url ${service.url} ${flags}`;
      const { exit, stdout, stderr } = await runCli(line);
      assert.deepEqual([exit, stdout], [5, ""]);
      assert.ok(service.received[0]?.url.endsWith(`/by_token/${secret}`));
      assert.match(stderr, /No invite \[hidden\] at /);
      assert.equal(stderr.includes(secret), false, stderr);
    });
  }
});

/** A service that repeats the credentials of a request in its error. */
async function startEchoingService(t: TestContext, status: number): Promise<string> {
  const service = await startReceiver(t);
  service.respond(({ headers }, response) => {
    const detail = `Wrong: ${headers["client-secret"]}, ${headers["x-cluster-key"]}`;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
  });
  return service.url;
}

const readFiles = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "utf8")))).join("\n");
};

describe("secret that the service echoes", () => {
  const quoted = 'secret-with-"quote"';
  const env = { SVC_CLIENT_ID: "client", SVC_CLIENT_SECRET: quoted, SVC_CLUSTER_KEY: "key-of-eu-1" };

  it("is hidden in a JSON error if it contains quotes", async (t) => {
    const { stderr } = await runCli(`contracts list --json --base-url ${await startEchoingService(t, 401)}`, { env });
    assert.equal(JSON.parse(stderr).error.message, "Wrong: [hidden], undefined (HTTP 401)");
  });

  it("is hidden in the output of svc doctor", async (t) => {
    const { stdout } = await runCli(`doctor --json --base-url ${await startEchoingService(t, 401)}`, { env });
    const { detail } = JSON.parse(stdout).find(({ check }: { check: string }) => check === "contract API");
    assert.equal(detail, "Wrong: [hidden], undefined (HTTP 401)");
  });

  for (const status of [401, 422]) {
    it(`is hidden in the files and the report of a bulk job (${status})`, async (t) => {
      const cwd = await createTestFolder(t);
      await writeFile(join(cwd, "ids.txt"), "a\nb\n");
      const options = "--report report.html --errors-out errors.csv --max-errors 100%";
      const url = await startEchoingService(t, status);
      const jobs = { SVC_STATE_DIR: join(cwd, "state") };
      await runCli(`router map-clients ids.txt --cluster eu-1 ${options} --base-url ${url}`, {
        cwd,
        env: { ...env, ...jobs },
      });
      const text = await readFiles(cwd);
      assert.match(text, /Wrong: undefined, \[hidden\]/);
      assert.equal(text.includes(env.SVC_CLUSTER_KEY), false);
    });
  }
});
