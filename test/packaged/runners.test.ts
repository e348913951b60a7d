import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { root } from "../structure/repository.ts";
import { installNpmPackages } from "../support/foreign/installation.ts";
import { tarballPath } from "../support/tarball.ts";

const run = promisify(execFile);

/** Exact versions, so that new releases do not break the build. */
const packages = {
  "jest-29": "npm:jest@29.7.0",
  "jest-30": "npm:jest@30.0.5",
  mocha: "11.7.1",
  sinon: "21.0.0",
  vitest: "4.1.12",
  // Environments with the globals of a browser.
  "jest-29-jsdom": "npm:jest-environment-jsdom@29.7.0",
  "jest-30-jsdom": "npm:jest-environment-jsdom@30.0.5",
  "jest-happy-dom": "npm:@happy-dom/jest-environment@20.14.5",
  jsdom: "29.1.1",
  "happy-dom": "21.0.4",
  // The last version whose `--module commonjs` resolves packages like Node.js 10.
  "typescript-5": "npm:typescript@5.9.2",
  "@types/node": "20.19.43",
};
const runners = await installNpmPackages(...Object.entries(packages).map(([name, version]) => `${name}@${version}`));

/** A program with the three entry points. A separate process reads the text of a contract. */
const story = `
  const emulator = await startEmulator({ clock: { mode: "manual" } });
  const cluster = emulator.clusters[0];
  const credentials = { clientId: cluster.clientId, clientSecret: cluster.clientSecret };
  const client = createClient({ baseUrls: { contracts: cluster.url }, credentials });
  try {
    const name = { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" };
    const acme = { is_individual: false, organization_name: "Acme Inc.", organization_type: "Corporation", poc_details: name };
    const body = { contract_template_id: 101, contract_data: {}, counter_party_details: [acme] };
    const { id } = await client.call("contracts.create", { body });
    const { content } = await client.call("documents.content", { params: { composite_id: id }, query: {} });
    assert.match(String(content), /Acme Inc\\./);
    const hmacKey = String(cluster.hmacKey);
    assert.equal(verifyDelivery({ body: "{}", headers: {}, hmacKey }).ok, false);
    const bytes = Buffer.from('{"activity":"CONTRACT_SIGNED"}');
    const headers = { [contentHashHeader]: contentHash(hmacKey, bytes) };
    const memory = new Uint8Array(bytes).buffer;
    for (const body of [bytes, new Uint8Array(bytes), memory, new DataView(memory), String(bytes)]) {
      assert.equal(verifyDelivery({ body, headers, hmacKey }).ok, true);
    }
    assert.throws(() => verifyDelivery({ body: { parsed: true }, headers, hmacKey }), /not a parsed value/);
    const missing = client.call("contracts.status", { params: { composite_id: "T-99" } });
    await assert.rejects(missing, (error) => error instanceof ServiceError);
    await emulator.restore(await emulator.snapshot());
  } finally {
    await client.close();
    await emulator.close();
  }`;
const imports = `
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createClient, ServiceError } from "svc-toolkit/client";
import { startEmulator } from "svc-toolkit/emulator";
import { contentHash, contentHashHeader, verifyDelivery } from "svc-toolkit/webhooks";
`;
const requires = `
const assert = require("node:assert/strict");
const { once } = require("node:events");
const { createServer } = require("node:http");
const { createClient, ServiceError } = require("svc-toolkit/client");
const { startEmulator } = require("svc-toolkit/emulator");
const { contentHash, contentHashHeader, verifyDelivery } = require("svc-toolkit/webhooks");
`;

/** A retry after 5 minutes to a receiver that did not respond, which fake timers must not stop. */
const fakedStory = `
  let requests = 0;
  const receiver = createServer((_, response) => {
    requests += 1;
    if (requests > 1) response.writeHead(204).end(() => receiver.emit("second"));
  });
  const second = once(receiver, "second");
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const url = "http://127.0.0.1:" + receiver.address().port;
  const emulator = await startEmulator({ clock: { mode: "real", speed: 10_000 }, webhookResponseTimeoutMs: 100 });
  const cluster = emulator.clusters[0];
  const baseUrls = { contracts: cluster.url, emulator: emulator.routerUrl };
  const credentials = { clientId: cluster.clientId, clientSecret: cluster.clientSecret, controlToken: emulator.token };
  const client = createClient({ baseUrls, credentials });
  try {
    await client.call("webhooks.create", { body: { title: "app", url, only_for_activities: ["CONTRACT_CREATED"] } });
    await client.call("activities.fire", { body: { activity: "CONTRACT_CREATED" } });
    await second;
    await emulator.restore(await emulator.snapshot());
  } finally {
    await client.close();
    await emulator.close();
    receiver.closeAllConnections();
    receiver.close();
  }`;
const createFakeTimersTest = (fake: string, restore: string) => `it("runs under fake timers", async () => {
  ${fake}
  try {${fakedStory}
  } finally {
    ${restore}
  }
}, 60_000);\n`;
const test = `it("reads a contract", async () => {${story}\n}, 60_000);\n`;

describe("packed tarball in a user's project", { skip: runners.missing }, () => {
  let folder: string;
  const bin = (path: string) => join(folder, "node_modules", path);
  before(async () => {
    if (runners.missing !== undefined) return;
    folder = await mkdtemp(join(tmpdir(), "svc-runners-"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
    // tarball.test.ts installs it with npm.
    await mkdir(bin("svc-toolkit"), { recursive: true });
    await run("tar", ["-xzf", tarballPath, "-C", bin("svc-toolkit"), "--strip-components", "1"]);
    // The other packages are already installed, and reinstalling takes seconds.
    await mkdir(bin("@types"));
    for (const name of Object.keys(packages)) await symlink(join(runners.folder, "node_modules", name), bin(name));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Writes files into a folder of the project, and runs a program of the project there. */
  async function used(
    name: string,
    files: Readonly<Record<string, string>>,
    argv: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ) {
    const projectFolder = join(folder, name);
    await mkdir(projectFolder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(projectFolder, file), text);
    const { PATH, HOME } = process.env;
    const options = { cwd: projectFolder, env: { PATH, HOME, CI: "true", NO_COLOR: "1", ...env } };
    const { stdout, stderr } = await run(process.execPath, argv, options).catch((failed: Error & ProgramOutput) =>
      assert.fail(`${failed.message}\n${failed.stdout}`),
    );
    return stdout + stderr;
  }

  const doors = { CommonJS: ["cjs", requires], "an ES module": ["mjs", imports] } as const;
  /** Each version, kind of module and environment runs with each of the others. All combinations take twice as long. */
  const jestEnvironments = {
    CommonJS: { "jest-29": ["node", "jest-29-jsdom"], "jest-30": ["jest-happy-dom"] },
    "an ES module": { "jest-29": ["jest-happy-dom"], "jest-30": ["node", "jest-30-jsdom"] },
  };
  for (const [kind, [ending, head]] of Object.entries(doors)) {
    it(`runs in the Node.js test runner as ${kind}`, async () => {
      const runner = ending === "cjs" ? 'const { it } = require("node:test");' : 'import { it } from "node:test";';
      const sinon = ending === "cjs" ? 'const sinon = require("sinon");' : 'import sinon from "sinon";';
      // Excludes nextTick, which Sinon fakes by default, because that stops Node.js sockets.
      const apis = '["setTimeout", "setInterval", "setImmediate", "Date"]';
      const text = [
        runner.replace("{ it }", "{ it, mock }"),
        ...[sinon, head, test],
        createFakeTimersTest(`mock.timers.enable({ apis: ${apis}, now: 0 });`, "mock.timers.reset();"),
        createFakeTimersTest(`const clock = sinon.useFakeTimers({ now: 0, toFake: ${apis} });`, "clock.restore();"),
      ].join("\n");
      const files = { [`door.test.${ending}`]: text.replaceAll("}, 60_000)", "})") };
      const output = await used("node", files, ["--test", "--test-reporter=tap", `door.test.${ending}`]);
      assert.match(output, /^# pass 3$/m);
    });

    for (const [jest, environments] of Object.entries(jestEnvironments[kind as keyof typeof doors])) {
      it(`runs in ${jest} with ${environments.join(" and ")} as ${kind}`, async () => {
        const projects = environments.map((environment) => ({
          rootDir: join(folder, jest),
          testMatch: [`**/*.test.${ending}`],
          moduleFileExtensions: ["js", "cjs", "mjs", "json"],
          testEnvironment: environment === "node" ? environment : bin(environment),
          // These fake timers are installed before the package is loaded.
          fakeTimers: { enableGlobally: ending === "cjs" },
        }));
        // One process for all environments, because the start of Jest takes as long as the tests.
        const argv = [
          bin(`${jest}/bin/jest.js`),
          "--runInBand",
          "--rootDir",
          ".",
          "--config",
          JSON.stringify({ projects }),
        ];
        const env: NodeJS.ProcessEnv = ending === "mjs" ? { NODE_OPTIONS: "--experimental-vm-modules" } : {};
        const global = ending === "mjs" ? "const { jest } = import.meta;" : "";
        const text = `${head}${test}${createFakeTimersTest(`${global} jest.useFakeTimers({ now: 0 });`, "jest.useRealTimers();")}`;
        const output = await used(jest, { [`door.test.${ending}`]: text }, argv, env);
        const count = 2 * environments.length;
        assert.match(output, new RegExp(`^Tests: +${count} passed, ${count} total$`, "m"));
        assert.doesNotMatch(output, /did not exit|open handle/i);
      });
    }

    it(`runs in Mocha as ${kind}`, async () => {
      const text = `${head}${test.replace("}, 60_000)", "})")}`;
      const argv = [bin("mocha/bin/mocha.js"), "--timeout", "60000", `door.test.${ending}`];
      assert.match(await used("mocha", { [`door.test.${ending}`]: text }, argv), /^ +1 passing/m);
    });
  }

  it("runs in Vitest with environments node, jsdom and happy-dom, and as documented in docs/testing.md", async () => {
    const fake = createFakeTimersTest("vi.useFakeTimers(); vi.setSystemTime(0);", "vi.useRealTimers();");
    const text = `import { it, vi } from "vitest";${imports}${test}${fake}`;
    const files = {
      ...Object.fromEntries(
        ["node", "jsdom", "happy-dom"].map((environment) => [
          `${environment}.test.mjs`,
          `// @vitest-environment ${environment}\n${text}`,
        ]),
      ),
      "retries.test.ts": await readFile(join(root, "test/packaged/examples/retries.test.ts"), "utf8"),
    };
    // One process, because the start of Vitest takes as long as the tests.
    const output = await used("vitest", files, [bin("vitest/vitest.mjs"), "run", "--root", "."]);
    assert.match(output, /Tests +7 passed \(7\)/);
  });

  describe("type check", () => {
    const program = `${imports.replaceAll(/^import .* from "node:.*\n/gm, "")}
export async function program(): Promise<string> {
  const emulator = await startEmulator({ seed: "demo" });
  const client = createClient({ baseUrls: { contracts: emulator.routerUrl } });
  const { contract_status } = await client.call("contracts.status", { params: { composite_id: "T-1" } });
  // @ts-expect-error no such operation
  await client.call("contracts.guess");
  const verdict = verifyDelivery({ body: "", headers: {}, hmacKey: "" });
  return verdict.ok ? contract_status : ServiceError.name;
}
`;
    const five = { program: () => bin("typescript-5/bin/tsc"), flags: [] };
    const ours = { program: () => join(root, "node_modules/typescript/bin/tsc"), flags: ["--ignoreConfig"] };
    // Checking the compiler's library and Node.js types takes most of a run, and shipped types require neither.
    const isolationFlags = ["--typeRoots", "none", "--skipDefaultLibCheck"];
    const both = ["program.mts", "program.cts"];
    const compilations = [
      ["node16 for both module kinds", five, both, ["--module", "node16", ...isolationFlags]],
      ["nodenext for both module kinds", ours, both, ["--module", "nodenext", ...isolationFlags]],
      [
        "bundler next to Node.js types",
        ours,
        ["program.ts"],
        ["--module", "preserve", "--moduleResolution", "bundler", "--types", "node"],
      ],
      ["commonjs", five, ["program.ts"], ["--module", "commonjs", ...isolationFlags]],
      ["commonjs in the newest compiler", ours, ["program.ts"], ["--module", "commonjs", ...isolationFlags]],
    ] as const;
    for (const [name, compiler, files, flags] of compilations) {
      it(`compiles strictly with ${name}`, async () => {
        const strict = ["--noEmit", "--strict", "--target", "es2022"];
        const argv = [compiler.program(), ...compiler.flags, ...strict, ...flags, ...files];
        await used("types", Object.fromEntries(files.map((file) => [file, program])), argv);
      });
    }
  });
});

interface ProgramOutput {
  readonly stdout: string;
}
