import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hasColour } from "../../src/cli/output/styled.ts";
import type { GlobalOptions } from "../../src/cli/parse/globals.ts";
import type { Host } from "../../src/cli/process/host.ts";
import { canPrompt } from "../../src/cli/prompt/terminal.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../support/cli/run-cli.ts";
import { startReceiver } from "../support/receiver.ts";

const mark = "\ufeff";

describe("OAuth secret", () => {
  const cases: [string, string, Record<string, string>][] = [
    ["oidc token --grant-type refresh_token", "refresh-token", { grant_type: "refresh_token" }],
    ["oidc token --grant-type authorization_code", "code", { grant_type: "authorization_code" }],
    ["oidc token --grant-type refresh_token", "client-secret", { grant_type: "refresh_token" }],
    [
      "auth device-token --client-id c --grant-type urn:ietf:params:oauth:grant-type:device_code",
      "device-code",
      { client_id: "c", grant_type: "urn:ietf:params:oauth:grant-type:device_code" },
    ],
  ];
  for (const [line, flag, fields] of cases) {
    it(`is read from a file or a pipe by svc ${line.split(" ", 2).join(" ")} --${flag}-file`, async (t) => {
      const service = await startReceiver(t);
      service.respond((_, response) => response.end("{}"));
      const cwd = await createTestFolder(t);
      await writeFile(join(cwd, "secret.txt"), `${mark}s3cret\n`);
      const run = (flags: readonly string[], options: RunOptions = {}) =>
        runCli([...line.split(" "), ...flags, "--base-url", service.url, "--quiet"], { cwd, ...options });
      const file = await run([`--${flag}-file`, "secret.txt"]);
      const pipe = await run([`--${flag}-file`, "-"], { stdin: "s3cret\n" });
      const word = await run([`--${flag}`, "s3cret"]);
      assert.deepEqual([file.exit, file.stderr, pipe.exit, pipe.stderr], [0, "", 0, ""]);
      assert.equal(
        word.stderr,
        `warning: other users can read --${flag} on the command line; use --${flag}-file FILE|-\n`,
      );
      const sent = { ...fields, [flag.replace("-", "_")]: "s3cret" };
      assert.deepEqual(
        service.received.map(({ body }) => JSON.parse(body.toString())),
        [sent, sent, sent],
      );
      const result = await run([`--${flag}-file`, "secret.txt", `--${flag}`, "x"]);
      assert.deepEqual(
        [result.exit, result.stderr.includes(`--${flag}-file cannot be used with --${flag}`)],
        [2, true],
      );
    });
  }
});

describe("byte order mark", () => {
  it("is not part of a secret, a profile or a JSON file", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) => response.end("{}"));
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, "config"));
    const profile = { router_url: service.url, contracts_url: service.url, client_id: "id", client_secret: "secret" };
    const profiles = { current: "p", profiles: { p: profile } };
    await writeFile(join(cwd, "config/profiles.json"), mark + JSON.stringify(profiles), { mode: 0o600 });
    await writeFile(join(cwd, "secret.txt"), `${mark}other\n`);
    await writeFile(join(cwd, "body.json"), `${mark}{"comment":"hi"}`);
    const svc = (line: string) => runCli(line, { cwd, env: { SVC_CONFIG_DIR: join(cwd, "config") } });
    assert.equal((await svc("config set client_secret --secret-file secret.txt")).exit, 0);
    assert.equal((await svc("contracts comments create 1 --data body.json")).exit, 0);
    const [{ headers, body } = assert.fail()] = service.received;
    assert.deepEqual([headers["client-secret"], body.toString()], ["other", '{"comment":"hi"}']);
  });
});

describe("line break after a variable", () => {
  it("is not part of the value", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) => response.end("{}"));
    const env = {
      SVC_BASE_URL: `${service.url}\r`,
      SVC_CLIENT_ID: "id\n",
      SVC_CLIENT_SECRET: "secret\r\n",
      SVC_CLUSTER_KEY: "key\r",
      SVC_BASIC_AUTH: "billing:word\n",
    };
    const svc = (line: string, stdin?: string) => runCli(line, { env, ...(stdin && { stdin }) });
    assert.equal((await svc("contracts comments create 1 --comment hi")).exit, 0);
    await svc("router map-clients --client-ids c --cluster eu-1");
    await svc("billing event --data -", "{}");
    const names = ["client-id", "client-secret", "x-cluster-key", "authorization"];
    assert.deepEqual(
      service.received.map(({ headers }) => names.flatMap((name) => headers[name] ?? [])),
      [["id", "secret"], ["key"], [`Basic ${btoa("billing:word")}`]],
    );
  });
});

describe("boolean variables", () => {
  it("allows prompts if CI and SVC_NO_INPUT are false or 0", () => {
    const terminal = { isTTY: true };
    const asks = (env: Host["env"]) =>
      canPrompt({ stdin: terminal, stderr: terminal, env } as unknown as Host, { noInput: false } as GlobalOptions);
    assert.deepEqual(
      [{ CI: "false", SVC_NO_INPUT: "0" }, { CI: "" }, { CI: "true" }, { CI: "woodpecker" }, { SVC_NO_INPUT: "1" }].map(
        asks,
      ),
      [true, true, false, false, false],
    );
  });

  it("disables colors with FORCE_COLOR=0 but not with CLICOLOR_FORCE=0 or SVC_NO_COLOR=0", () => {
    const terminal = { isTTY: true } as Parameters<typeof hasColour>[0];
    const pipe = { isTTY: false } as Parameters<typeof hasColour>[0];
    const results = [
      { FORCE_COLOR: "0" },
      { FORCE_COLOR: "false" },
      { FORCE_COLOR: "1" },
      { CLICOLOR_FORCE: "0" },
      { SVC_NO_COLOR: "0" },
      { SVC_NO_COLOR: "1" },
      { NO_COLOR: "0" },
    ].map((env) => [hasColour(terminal, undefined, env), hasColour(pipe, undefined, env)]);
    assert.deepEqual(results, [
      [false, false],
      [false, false],
      [true, true],
      [true, false],
      [true, false],
      [false, false],
      [false, false],
    ]);
  });
});

describe("SVC_CLUSTERS", () => {
  it("must be a list of clusters", async () => {
    const env = { SVC_CLUSTERS: '{"id":"eu-1"}' };
    const { exit, stderr } = await runCli("router clusters --base-url http://127.0.0.1:9", { env });
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: SVC_CLUSTERS must be a JSON array of clusters."]);
  });
});

describe("svc --verbose", () => {
  it("prints each attempt and each retry, with its reason", async (t) => {
    const service = await startReceiver(t);
    const sendInstantly = { now: () => 0, monotonicNow: () => 0, sleep: async () => {} };
    service.respond((_, response) => {
      const status = service.received.length === 1 ? 503 : 500;
      response.writeHead(status, { "x-request-id": `r${status}` }).end("{}");
    });
    const argv = `router health --verbose --retries 1 --base-url ${service.url}`;
    const { exit, stderr } = await runCli(argv, { wall: sendInstantly });
    assert.deepEqual(
      [
        exit,
        stderr
          .replace(/in \d\.\d s/, "in N s")
          .split("\n")
          .slice(0, 4),
      ],
      [
        75,
        [
          `GET ${service.url}/ 503 0 ms r503`,
          "retry 1 in N s: status 503",
          `GET ${service.url}/ 500 0 ms r500`,
          "error: The service failed (HTTP 500)",
        ],
      ],
    );
  });
});
