import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Profile } from "../../src/cli/connection/profiles/profile.ts";
import { identifyMachine } from "../../src/files/machine.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../support/cli/run-cli.ts";
import { createMovedWallClock } from "../support/clocks/moved-wall-clock.ts";
import { getProgramPath } from "../support/program.ts";
import { startReceiver } from "../support/receiver.ts";

/** A configuration folder, and the command line that uses it. */
async function createHome(t: TestContext, profiles?: Record<string, Profile>, current?: string) {
  const folder = join(await createTestFolder(t), "svc");
  if (profiles) {
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, "profiles.json"), JSON.stringify({ current, profiles }));
  }
  const svc = (argv: string | readonly string[], { env, ...more }: RunOptions = {}) =>
    runCli(argv, { cwd: folder, ...more, env: { SVC_CONFIG_DIR: folder, ...env } });
  const file = async () => JSON.parse(await readFile(join(folder, "profiles.json"), "utf8"));
  return { folder, svc, file };
}

const staging: Profile = {
  router_url: "https://router.staging.example",
  client_id: "cid_staging",
  client_secret: "secret-of-staging",
  cluster_keys: { "eu-1": "key-of-eu" },
};

describe("svc config set", () => {
  it("creates a profile and selects the first profile", async (t) => {
    const { svc, file } = await createHome(t);
    assert.deepEqual(await svc("config set router_url https://a.example/"), {
      exit: 0,
      stdout: "",
      stderr:
        "Set router_url of profile default, which is now the current profile (to change it: svc config use NAME)\n",
    });
    await svc("config set client_id cid --profile other");
    assert.deepEqual(await file(), {
      current: "default",
      profiles: { default: { router_url: "https://a.example" }, other: { client_id: "cid" } },
    });
  });

  it("restricts files and their folder to their owner", async (t) => {
    const { svc, folder } = await createHome(t);
    await svc("config set client_id cid");
    const modes = [folder, join(folder, "profiles.json")].map(async (path) => (await stat(path)).mode & 0o777);
    assert.deepEqual(await Promise.all(modes), [0o700, 0o600]);
    assert.deepEqual(await readdir(folder), ["profiles.json"]);
  });

  it("accepts a secret from a file or a pipe and never prints it", async (t) => {
    const { svc, file, folder } = await createHome(t, {}, undefined);
    await writeFile(join(folder, "secret.txt"), "very-secret\n");
    const results = [
      await svc("config set client_secret --secret-file secret.txt"),
      await svc("config set cluster_keys.eu.west --secret-file -", { stdin: "very-secret-key\r\n" }),
      await svc("config list --show-origin"),
      await svc("config list --json"),
      await svc("config profiles --json"),
      await svc("config get client_secret"),
    ];
    assert.deepEqual((await file()).profiles.default, {
      client_secret: "very-secret",
      cluster_keys: { "eu.west": "very-secret-key" },
    });
    assert.equal(JSON.stringify(results).includes("very-secret"), false);
    assert.deepEqual(
      results.map(({ exit }) => exit),
      [0, 0, 0, 0, 0, 2],
    );
  });

  const rejectedArguments: [string, string | string[], RegExp][] = [
    ["a secret on the command line", "config set client_secret hunter2", /client_secret is a secret/],
    ["no secret without a terminal", "config set client_secret", /--secret-file required when not running/],
    ["an empty secret", "config set client_secret --secret-file empty", /is empty, expected a secret/],
    ["a secret of several lines", "config set client_secret --secret-file lines", /: lines must be a single line/],
    [
      "a file for a value that is not a secret",
      "config set client_id --secret-file lines",
      /--secret-file cannot be used with client_id, which is not a secret/,
    ],
    ["an address that is none", "config set router_url router", /router_url must be a URL/],
    ["an address with a password", "config set router_url https://a:b@c.example", /must not contain credentials/],
    [
      "an unknown setting",
      "config set router_ulr x",
      /Setting "router_ulr" not found\.\n {2}Did you mean router_url\?/,
    ],
    ["a missing value", "config set client_id", /<value> is required/],
    ["a blank value", ["config", "set", "client_id", ""], /<value> is required/],
    ["a name that is none", "config set client_id x --profile ../x", /Profile names must be letters/],
  ];
  for (const [label, argv, message] of rejectedArguments) {
    it(`rejects ${label}`, async (t) => {
      const { svc, folder } = await createHome(t, { default: {} });
      await writeFile(join(folder, "empty"), "\n");
      await writeFile(join(folder, "lines"), "one\ntwo\n");
      const { exit, stdout, stderr } = await svc(argv);
      assert.match(stderr, message);
      assert.deepEqual([exit, stdout], [2, ""]);
      assert.equal(stderr.includes("hunter2"), false);
    });
  }

  it("preserves all concurrent changes", async (t) => {
    const { folder, file } = await createHome(t);
    const names = Array.from({ length: 6 }, (_, i) => `p${i}`);
    const ends = names.map(
      (name) =>
        new Promise((resolve) => {
          const argv = [getProgramPath("svc"), "config", "set", "client_id", name, "--profile", name];
          spawn(process.execPath, argv, { env: { ...process.env, SVC_CONFIG_DIR: folder }, stdio: "ignore" }).once(
            "close",
            resolve,
          );
        }),
    );
    assert.deepEqual(await Promise.all(ends), Array(6).fill(0));
    const { profiles } = await file();
    assert.deepEqual(
      Object.fromEntries(Object.entries(profiles).sort()),
      Object.fromEntries(names.map((name) => [name, { client_id: name }])),
    );
    assert.deepEqual(await readdir(folder), ["profiles.json"]);
  });

  it("takes over the lock of a dead process", async (t) => {
    const { svc, folder } = await createHome(t, {});
    const staleLock = { id: "x", pid: 2 ** 22 + 1, ...(await identifyMachine()) };
    await writeFile(join(folder, "profiles.json.lock"), JSON.stringify(staleLock));
    assert.equal((await svc("config set client_id cid")).exit, 0);
    assert.deepEqual(await readdir(folder), ["profiles.json"]);
  });

  it("waits for the lock of a live process, then reports the lock file", async (t) => {
    const { svc, folder } = await createHome(t, {});
    const heldLock = { id: "x", pid: process.ppid, ...(await identifyMachine()) };
    await writeFile(join(folder, "profiles.json.lock"), JSON.stringify(heldLock));
    const wall = createMovedWallClock((ms) => (ms < 1_000 ? wall.sleep(60_000) : undefined));
    const { exit, stderr } = await svc("config set client_id cid", { wall });
    assert.equal(exit, 75);
    assert.match(stderr, /\S+profiles\.json\.lock is locked by another process/);
  });

  it("writes through a symbolic link and preserves the link", async (t) => {
    const { svc, folder } = await createHome(t, {});
    const elsewhere = join(folder, "elsewhere.json");
    await writeFile(elsewhere, "{}");
    await rm(join(folder, "profiles.json"));
    await symlink(elsewhere, join(folder, "profiles.json"));
    await svc("config set client_id cid");
    assert.deepEqual(JSON.parse(await readFile(elsewhere, "utf8")).profiles, { default: { client_id: "cid" } });
  });

  it("reports errors in an edited file and changes nothing", async (t) => {
    const files: [content: unknown, problem: string][] = [
      [null, "the file must contain a JSON object"],
      [{ profiles: null }, "profiles must be an object"],
      [{ profiles: [] }, "profiles must be an object"],
      [{ current: 7, profiles: {} }, "current must be the name of a profile"],
      [{ current: "a", profiles: { a: null } }, "profile a must be an object of settings"],
      [{ current: "a", profiles: { a: "secret" } }, "profile a must be an object of settings"],
      [{ current: "a", profiles: { a: { client_secret: 5 } } }, "client_secret of profile a must be a string"],
      [{ current: "a", profiles: { a: { cluster_keys: null } } }, "cluster_keys of profile a must be an object"],
      [{ current: "a", profiles: { a: { cluster_keys: { x: 1 } } } }, "x of profile a must be a string"],
    ];
    for (const [content, problem] of files) {
      const { svc, folder } = await createHome(t, {});
      const path = join(folder, "profiles.json");
      await writeFile(path, JSON.stringify(content));
      const stderr = `error: Cannot use ${path}: ${problem}.\n  Fix or remove the file.\n`;
      for (const argv of ["config list", "config set client_id cid", "contracts status T-1", "config profiles"]) {
        assert.deepEqual(await svc(argv), { exit: 2, stdout: "", stderr }, argv);
      }
      assert.deepEqual(JSON.parse(await readFile(path, "utf8")), content);
    }
  });

  it("reports an unwritable file and changes nothing", async (t) => {
    const { svc, folder } = await createHome(t, {});
    await writeFile(join(folder, "profiles.json"), "{ damaged, with a secret");
    const result = await svc("config set client_id cid");
    assert.deepEqual([result.exit, result.stderr.includes("with a secret")], [2, false]);
    assert.equal(await readFile(join(folder, "profiles.json"), "utf8"), "{ damaged, with a secret");
    const env = { SVC_CONFIG_DIR: join(folder, "profiles.json", "svc") };
    const { exit, stderr } = await svc("config set client_id cid", { env });
    assert.equal(exit, 1);
    assert.match(stderr, /Failed to write .*: a part of its path is not a folder \(ENOTDIR\)\.\n/);
    assert.match(stderr, /\n {2}Set SVC_CONFIG_DIR to another folder/);
  });
});

describe("bearer token", () => {
  it("is sent from a profile or the environment when chat_a teams are mapped", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) => response.end("true"));
    const { svc } = await createHome(t, { staging: { router_url: service.url, token: "of-profile" } }, "staging");
    const map = ["router", "map-chat-a-teams", "--chat-a-team-id-list", "T-1", "--cluster", "eu-1"];
    for (const [argv, env] of [
      [map, {}],
      [map, { SVC_TOKEN: "of-environment" }],
      [[...map, "--profile", "staging"], { SVC_TOKEN: "of-environment" }],
    ] as const)
      assert.equal((await svc(argv, { env })).exit, 0);
    assert.deepEqual(
      service.received.map(({ headers }) => headers.authorization),
      ["Bearer of-profile", "Bearer of-environment", "Bearer of-profile"],
    );
  });
});

describe("svc config list", () => {
  const environment = {
    SVC_ROUTER_URL: "https://env.example",
    SVC_CLIENT_ID: "env_id",
    SVC_CLIENT_SECRET: "env-secret",
  };

  const cases: [string, string, Record<string, string>, [string, string, string][]][] = [
    [
      "shows the current profile",
      "",
      {},
      [
        ["profile", "staging", "FILE"],
        ["router_url", "https://router.staging.example", "PROFILE"],
        ["contracts_url", "https://router.staging.example", "FALLBACK"],
        ["client_id", "cid_staging", "PROFILE"],
        ["client_secret", "[hidden]", "PROFILE"],
        ["cluster_keys.eu-1", "[hidden]", "PROFILE"],
      ],
    ],
    [
      "prefers the environment to the entire profile",
      "",
      environment,
      [
        ["profile", "staging", "FILE"],
        ["router_url", "https://env.example", "SVC_ROUTER_URL"],
        ["client_id", "env_id", "SVC_CLIENT_ID"],
        ["client_secret", "[hidden]", "SVC_CLIENT_SECRET"],
      ],
    ],
    [
      "prefers the profile of --profile to the environment",
      "--profile staging",
      environment,
      [
        ["profile", "staging", "--profile"],
        ["router_url", "https://router.staging.example", "PROFILE"],
        ["contracts_url", "https://router.staging.example", "FALLBACK"],
        ["client_id", "cid_staging", "PROFILE"],
        ["client_secret", "[hidden]", "PROFILE"],
        ["cluster_keys.eu-1", "[hidden]", "PROFILE"],
      ],
    ],
    [
      "prefers --base-url to all other settings and withholds the profile's secrets",
      "--base-url https://flag.example",
      {},
      [
        ["profile", "staging", "FILE"],
        ["router_url", "https://flag.example", "--base-url"],
        ["contracts_url", "https://flag.example", "--base-url"],
      ],
    ],
  ];
  for (const [label, flags, env, expected] of cases) {
    it(label, async (t) => {
      const { svc, folder } = await createHome(t, { staging }, "staging");
      const { exit, stdout } = await svc(`config list --format tsv --show-origin ${flags}`, { env });
      const file = join(folder, "profiles.json");
      const rows = stdout
        .trimEnd()
        .split("\n")
        .slice(1)
        .map((line) => line.split("\t"));
      const PROFILE = `profile staging in ${file}`;
      const origins: Record<string, string> = { FILE: file, PROFILE, FALLBACK: `router_url of ${PROFILE}` };
      assert.equal(exit, 0);
      assert.deepEqual(rows, [
        ...expected.map(([key, value, origin]) => [key, value, origins[origin] ?? origin]),
        ["config_dir", folder, "SVC_CONFIG_DIR"],
      ]);
    });

    it(`${label} (in commands)`, async (t) => {
      const { svc } = await createHome(t, { staging }, "staging");
      const expectedValues = Object.fromEntries(expected.map(([key, value]) => [key, value]));
      const { exit, stdout, stderr } = await svc(`contracts send T-1 --dry-run --json ${flags}`, {
        env: { SVC_CONTRACTS_URL: env.SVC_ROUTER_URL, ...env },
      });
      if (expectedValues.client_id === undefined)
        return assert.deepEqual([exit, /no_credentials/.test(stderr)], [4, true]);
      const { url } = JSON.parse(stdout);
      assert.equal(new URL(url).origin, expectedValues.contracts_url ?? expectedValues.router_url);
    });
  }

  it("shows the origin of other environment settings and hides secrets", async (t) => {
    const { svc } = await createHome(t, {});
    const env = {
      SVC_CHAT_A_SIGNING_SECRET: "secret-1",
      SVC_CHAT_B_TOKEN: "secret-2",
      SVC_CRM_A_CLIENT_SECRET: "secret-3",
      SVC_CRM_B_CONSUMER_SECRET: "secret-4",
      SVC_BILLING_PASSWORD: "secret-5",
      SVC_WEBHOOK_HMAC_KEY: "secret-6",
      SVC_EMULATOR_URL: "http://127.0.0.1:4010/_emulator",
      SVC_EMULATOR_TOKEN: "secret-7",
      SVC_STATE_DIR: "/jobs",
    };
    const { stdout } = await svc("config list --json", { env });
    const found = Object.fromEntries(
      JSON.parse(stdout).map(({ origin, value }: { origin: string; value: string }) => [origin, value]),
    );
    const { SVC_CONFIG_DIR: _, ...rest } = found;
    const hidden = Object.fromEntries(Object.keys(env).map((name) => [name, "[hidden]"]));
    assert.deepEqual(rest, { ...hidden, SVC_EMULATOR_URL: "http://127.0.0.1:4010", SVC_STATE_DIR: "/jobs" });
  });

  it("shows the origin of each cluster's key and of half a key pair", async (t) => {
    const { svc, folder } = await createHome(t, { staging }, "staging");
    const env = { SVC_CLUSTERS: '[{"id":"us-1","cluster_key":"key-of-us"}]', SVC_TOKEN: "", SVC_CLUSTER_KEY: "" };
    const { stdout } = await svc("config list --json", { env });
    const origin = `profile staging in ${join(folder, "profiles.json")}`;
    const hidden = JSON.parse(stdout).filter(({ value }: { value: string }) => value === "[hidden]");
    assert.deepEqual(hidden, [
      { key: "client_secret", value: "[hidden]", origin: origin },
      { key: "cluster_keys.eu-1", value: "[hidden]", origin: origin },
      { key: "cluster_keys.us-1", value: "[hidden]", origin: "SVC_CLUSTERS" },
    ]);
  });

  it("rejects an address without printing its password", async (t) => {
    const { svc } = await createHome(t, { staging: { router_url: "https://ann:hunter2@a.example" } }, "staging");
    const results = [
      await svc("config list"),
      await svc("router list-clusters"),
      await svc("config list", { env: { SVC_BASE_URL: "https://ann:hunter2@b.example" } }),
    ];
    assert.deepEqual(
      results.map(({ exit }) => exit),
      [2, 2, 2],
    );
    assert.match(results[0]!.stderr, /profile staging in \S+ must not contain credentials/);
    assert.match(results[2]!.stderr, /SVC_BASE_URL must not contain credentials/);
    assert.equal(JSON.stringify(results).includes("hunter2"), false);
  });

  it("hides the password of a proxy", async (t) => {
    const { svc } = await createHome(t);
    const env = { HTTPS_PROXY: "http://ann:hunter2@proxy.example:8080" };
    const { stdout } = await svc("config list --json", { env });
    assert.deepEqual(JSON.parse(stdout)[0], {
      key: "https_proxy",
      value: "http://proxy.example:8080",
      origin: "HTTPS_PROXY",
    });
  });
});

describe("svc config get, unset, use and remove", () => {
  it("shows, changes and removes a setting", async (t) => {
    const { svc, file, folder } = await createHome(t, { staging, prod: {} }, "staging");
    assert.deepEqual(await svc("config get router_url"), { exit: 0, stdout: `${staging.router_url}\n`, stderr: "" });
    const origin = `profile staging in ${join(folder, "profiles.json")}`;
    const { stdout } = await svc("config get router_url --json");
    assert.deepEqual(JSON.parse(stdout), { key: "router_url", value: staging.router_url, origin });
    assert.deepEqual([(await svc("config get oauth_client_id")).exit, (await svc("config get nonsense")).exit], [5, 2]);
    await svc("config unset cluster_keys.eu-1");
    await svc("config unset client_secret");
    assert.deepEqual((await file()).profiles.staging, {
      router_url: staging.router_url,
      client_id: staging.client_id,
      cluster_keys: {},
    });
    assert.deepEqual(await svc("config use prod"), {
      exit: 0,
      stdout: "",
      stderr: "Commands use profile prod from now on\n",
    });
    assert.match((await svc("config use prdo")).stderr, /Profile "prdo" not found\.\n {2}Did you mean prod\?/);
    const { stderr } = await svc("config use staging", { env: { SVC_PROFILE: "prod" } });
    assert.match(stderr, /SVC_PROFILE is set to prod/);
    assert.match((await svc("config remove staging")).stderr, /--yes required when not running interactively/);
    await svc("config remove prod --yes");
    assert.equal((await file()).current, "staging");
    assert.equal((await svc("config remove staging --yes")).exit, 0);
    assert.deepEqual(await file(), { profiles: {} });
  });
});
