import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getProgramPath } from "../../support/program.ts";
import { startReceiver } from "../../support/receiver.ts";
import { contract, runStory } from "./story.ts";

const failing = `
name: A <signed> contract
steps:
  - { call: contracts.create, body: ${contract}, save: { contract: id } }
  - { svc: contracts status $contract --json, expect: { json: { contract_status: EXECUTED } } }
`;

/** The attributes of each relevant element in junit-10.xsd of Jenkins' xunit plugin. */
const jenkins = new Set([
  ...["name", "time", "tests", "failures", "errors"].map((name) => `testsuites ${name}`),
  ...["name", "tests", "failures", "errors", "time", "skipped", "timestamp"].map((name) => `testsuite ${name}`),
  ...["name", "time", "classname", "group"].map((name) => `testcase ${name}`),
  ...["failure", "error", "skipped"].flatMap((element) => [`${element} type`, `${element} message`]),
]);

describe("reports of svc run", () => {
  it("writes JUnit XML with the error message and the trace", async (t) => {
    const { exit, readFile } = await runStory(t, failing, ["--report", "junit.xml"]);
    const xml = (await readFile("junit.xml")).replaceAll(/time="\d+\.\d+"/g, 'time="0.1"');
    assert.equal(exit, 1);
    assert.match(
      xml,
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites tests="1" failures="1" errors="0" time="0\.1">\n {2}<testsuite name="svc run" .*>\n {4}<testcase name="A &lt;signed&gt; contract" classname="story\.yaml" time="0\.1">\n/,
    );
    assert.match(
      xml,
      /story\.yaml:4 step 2 \(svc contracts status T-1 --json\): json\.contract_status: expected &quot;EXECUTED&quot;, got &quot;DRAFT&quot;/,
    );
    assert.match(xml, /trace of T-1\n.*CONTRACT_CREATED T-1/s);
  });

  it("writes the results of the other scenarios if a process is killed", async (t) => {
    const cwd = await createTestFolder(t);
    const silent = await startReceiver(t);
    await writeFile(join(cwd, "a.yaml"), "steps: [{ advance: PT1H }]\n");
    const webhook = `{ title: app, url: "${silent.url}", only_for_activities: [CONTRACT_CREATED] }`;
    const steps = [
      `call: webhooks.create, body: ${webhook}`,
      `call: contracts.create, body: ${contract}`,
      "advance: PT1H",
    ];
    await writeFile(join(cwd, "b.yaml"), `steps:\n${steps.map((step) => `  - { ${step} }\n`).join("")}`);
    const argv = ["run", "b.yaml", "a.yaml", "--jobs", "2", "--report", "junit.xml"];
    const run = spawn(process.execPath, [getProgramPath("svc"), ...argv], { cwd, stdio: ["ignore", "pipe", "ignore"] });
    silent.respond(() => {
      const children = readFileSync(`/proc/${run.pid}/task/${run.pid}/children`, "utf8").trim().split(" ");
      const child = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("b.yaml"));
      process.kill(Number(child), "SIGKILL");
    });
    const [stdout, [exit]] = await Promise.all([text(run.stdout!), once(run, "close")]);
    const ended = "The process that runs this file has ended: it printed nothing";
    assert.deepEqual([exit, stdout.includes(ended), /2 scenarios, 1 passed, 1 failed/.test(stdout)], [1, true, true]);
    const xml = await readFile(join(cwd, "junit.xml"), "utf8");
    assert.deepEqual([xml.match(/<testcase /g)?.length, xml.includes(ended)], [2, true]);
  });

  it("leaves no temporary folder if a second signal follows the first", async (t) => {
    const cwd = await createTestFolder(t);
    const silent = await startReceiver(t);
    const steps = [`receiver: app, url: "${silent.url}", subscribe: all`, `call: contracts.create, body: ${contract}`];
    await writeFile(join(cwd, "story.yaml"), `steps: [${[...steps, "advance: PT1H"].map((step) => `{ ${step} }`)}]`);
    await mkdir(join(cwd, "temporary"));
    const env = { ...process.env, TMPDIR: join(cwd, "temporary") };
    const run = spawn(process.execPath, [getProgramPath("svc"), "run", "story.yaml"], { cwd, env, stdio: "ignore" });
    let count: number | undefined;
    silent.respond(() => {
      count ??= readdirSync(join(cwd, "temporary")).length;
      run.kill("SIGINT");
      run.kill("SIGTERM");
    });
    await once(run, "close");
    assert.deepEqual([count, await readdir(join(cwd, "temporary"))], [1, []]);
  });

  it("writes only elements of Jenkins's schema", async (t) => {
    const { readFile } = await runStory(t, failing, ["--report", "junit.xml"]);
    const xml = await readFile("junit.xml");
    const undeclared = [...xml.matchAll(/<(\w[\w-]*)((?: [\w-]+="[^"]*")*)/g)].flatMap(
      ([, element = "", attributes = ""]) =>
        [...attributes.matchAll(/ ([\w-]+)=/g)]
          .map(([, name = ""]) => `${element} ${name}`)
          .filter((value) => !jenkins.has(value)),
    );
    const lacking = ["name", "tests", "failures", "errors"].filter(
      (name) => !new RegExp(`<testsuite [^>]*\\b${name}=`).test(xml),
    );
    assert.deepEqual([undeclared, lacking, (xml.match(/ time="(?!\d{1,3}\.\d*")/g) ?? []).length], [[], [], 0]);
  });

  it("writes a page without external resources, with output and trace, also after a success", async (t) => {
    const { readFile } = await runStory(t, failing, ["--html", "report.html"]);
    const good = await runStory(t, failing.replace("EXECUTED", "DRAFT"), ["--html", "report.html"]);
    const page = await readFile("report.html");
    assert.match(page, /<title>1 scenario, 0 passed, 1 failed<\/title>/);
    assert.match(page, /A &lt;signed&gt; contract/);
    assert.match(
      page,
      /<p class="failed">json\.contract_status: expected &quot;EXECUTED&quot;, got &quot;DRAFT&quot;<\/p>/,
    );
    assert.match(page, /<details open><summary>Trace of T-1<\/summary><pre>.*contracts\.create/);
    assert.match(
      await good.readFile("report.html"),
      /<details><summary>Trace of T-1<\/summary><pre>.*contracts\.create/,
    );
    assert.deepEqual(page.match(/(?:src|href|url)\s*[=(]|<script|https?:\/\/(?!127\.0\.0\.1)/g), null);
  });

  it("annotates the line of a failure and of an invalid file for GitHub", async (t) => {
    const env = { GITHUB_ACTIONS: "true" };
    const failed = await runStory(t, failing, [], {}, { env });
    const wrong = await runStory(t, "steps: []", [], {}, { env });
    const without = await runStory(t, failing, ["--no-annotations"], {}, { env });
    const inSubfolder = await runStory(t, failing, [], {}, { env: { ...env, GITHUB_WORKSPACE: tmpdir() } });
    assert.equal(
      failed.stderr,
      '::error file=story.yaml,line=4,col=82::svc contracts status T-1 --json: json.contract_status: expected "EXECUTED", got "DRAFT"\n',
    );
    assert.deepEqual(wrong.stderr.split("\n"), [
      "::error file=story.yaml,line=1,col=8::steps must be a list with at least one step.",
      "error: story.yaml:1:8: steps must be a list with at least one step.",
      "  svc run --schema prints the JSON Schema of scenario files.",
      "",
    ]);
    assert.equal(without.stderr, "");
    assert.match(inSubfolder.stderr, /^::error file=[^/]+\/story\.yaml,line=4,/);
  });

  it("prints the same results as one document or as one line per scenario", async (t) => {
    const { exit, stdout } = await runStory(t, failing, ["--json"]);
    const { ok, scenarios } = JSON.parse(stdout);
    const [{ steps, trace, ...rest }] = scenarios;
    assert.deepEqual([exit, ok, steps.length, trace.length > 0], [1, false, 2, true]);
    assert.deepEqual(
      { ...rest, seconds: 0 },
      { file: "story.yaml", name: "A <signed> contract", ok: false, seconds: 0, skipped: 0, traced: "T-1", seen: [] },
    );
    const lines = (await runStory(t, failing, ["--format", "ndjson"])).stdout.trim().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).ok),
      [false],
    );
  });

  it("prints no secret from any source", async (t) => {
    const story = `
steps:
  - { call: webhooks.hmac-key, save: { key: hmac_key } }
  - { svc: webhooks hmac-key --json }
  - { title: "Look for $key", svc: [api, GET, "/none?x=$key"], expect: { exit: 0, text: [$key] } }
`;
    const env = { GITHUB_ACTIONS: "true" };
    const run = await runStory(t, story, ["--json", "--report", "junit.xml", "--html", "page.html"], {}, { env });
    const text = await runStory(t, story, [], {}, { env });
    const outputs = [
      run.stdout,
      run.stderr,
      await run.readFile("junit.xml"),
      await run.readFile("page.html"),
      text.stdout,
      text.stderr,
    ];
    // The same seed produces the same keys.
    const { clusters, token } = await startTestEmulator(t, { deterministic: true, clock: { mode: "manual" } });
    const secrets = [
      token,
      ...clusters.flatMap((cluster) => [cluster.clientSecret, cluster.clusterKey, cluster.hmacKey]),
    ];
    const leaked = secrets.filter((secret) => secret !== undefined && outputs.join("\n").includes(secret));
    assert.deepEqual([run.exit, leaked], [1, []]);
    assert.deepEqual(
      outputs.map((value) => value.includes("[hidden]")),
      [true, true, true, true, true, true],
    );
  });

  it("runs files in several processes and reports in the given order", async (t) => {
    const cwd = await createTestFolder(t);
    const names = Array.from({ length: 5 }, (_, i) => `story${String(i).padStart(2, "0")}.yaml`);
    for (const [i, name] of names.entries()) {
      const step = i === 3 ? "svc: contracts status T-9" : "advance: PT1H";
      await writeFile(join(cwd, name), `name: Number ${i}\nsteps: [{ ${step} }]\n`);
    }
    const { exit, stdout, stderr } = await runCli(["run", ...names, "--jobs", "2", "--report", "junit.xml"], { cwd });
    const headings = stdout.split("\n").filter((line) => line.startsWith("story"));
    assert.deepEqual([exit, stderr, headings], [1, "", names.map((name, i) => `${name}  Number ${i}`)]);
    assert.match(stdout, /5 scenarios, 4 passed, 1 failed/);
    assert.equal((await readFile(join(cwd, "junit.xml"), "utf8")).match(/<failure /g)?.length, 1);
  });

  it("runs a file once that is named twice", async (t) => {
    const { exit, stdout } = await runStory(t, "steps: [{ advance: PT1H }]", ["./story.yaml"]);
    assert.deepEqual(
      [exit, stdout.match(/ok .*|1 scenario,/g)],
      [0, ["ok       1  advance PT1H  0 scheduled entries", "1 scenario,"]],
    );
  });

  it("removes the reports of an earlier run first, so that they do not outlive an interrupted one", async (t) => {
    const flags = ["--report", "junit.xml", "--html", "page.html"];
    const { exit, readFile } = await runStory(t, "steps: []", flags, {
      "junit.xml": "<?xml version='1.0'?>",
      "page.html": "<!doctype html>",
    });
    assert.equal(exit, 2);
    for (const name of ["junit.xml", "page.html"]) await assert.rejects(readFile(name), { code: "ENOENT" });
  });

  it("replaces only existing reports", async (t) => {
    for (const flag of ["--report", "--html"]) {
      const story = "steps: [{ advance: PT1H }]\n";
      const { exit, stderr, readFile } = await runStory(t, story, [flag, "other.yaml"], { "other.yaml": story });
      const message = `error: ${flag}: other.yaml exists and was not written by this option`;
      assert.deepEqual([exit, stderr.split("\n")[0], await readFile("other.yaml")], [2, message, story]);
    }
  });

  it("rejects one file for both reports", async (t) => {
    const { exit, stderr } = await runStory(t, "steps: []", ["--report", "./same.xml", "--html", "same.xml"]);
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: --html and --report must not be the same file"]);
  });

  it("names the key that a program needs if the program rejects all webhooks", async (t) => {
    const app = await startReceiver(t);
    app.respond(401);
    const story = `
steps:
  - receiver: app
    url: ${app.url}
    subscribe: [CONTRACT_CREATED]
  - svc: webhooks trigger CONTRACT_CREATED
`;
    const { exit, stdout } = await runStory(t, story);
    const hint =
      "  app responded 401. The scenario signs with the key of: svc emulator exec --deterministic -- printenv SVC_WEBHOOK_HMAC_KEY";
    assert.deepEqual([exit, stdout.split("\n").includes(hint)], [1, true], stdout);
  });

  it("prints only failures with --quiet", async (t) => {
    const { stdout } = await runStory(t, failing.replace("EXECUTED", "DRAFT"), ["--quiet"]);
    const failed = await runStory(t, failing, ["--quiet"]);
    assert.match(stdout, /^1 scenario, 1 passed, 0 failed, \d+\.\d s\n$/);
    assert.match(failed.stdout, /^story\.yaml {2}A <signed> contract\n {2}ok/);
  });

  it("publishes a JSON Schema with every kind of step", async () => {
    const { exit, stdout } = await runCli("run --schema");
    const { title, properties, required, $defs } = JSON.parse(stdout);
    const steps = JSON.stringify($defs ?? properties.steps);
    assert.ok(steps.includes('"contracts.create"'), "names operations");
    const lacking = ["call", "svc", "advance", "as", "fault", "receiver", "for each", "expect"].filter(
      (kind) => !steps.includes(`"required":["${kind}"`),
    );
    assert.deepEqual(
      [exit, title, Object.keys(properties), required, lacking],
      [0, "Scenario", ["name", "seed", "start", "files", "steps"], ["steps"], []],
    );
  });
});

describe("svc run --watch", () => {
  it("runs again when a file changes, also after an error, until Ctrl-C", async (t) => {
    const cwd = await createTestFolder(t);
    const path = join(cwd, "story.yaml");
    await writeFile(path, "steps: [{ advance: PT1H }]");
    const next = [
      "steps: [{ advance: }, { as: x }]",
      "seed: none.json\nsteps: [{ advance: PT3H }]",
      "steps: [{ advance: PT2H }]",
    ];
    let stop = () => {};
    let seenRounds = 0;
    const { exit, stdout, stderr } = await runCli("run story.yaml --watch", {
      cwd,
      onStart: ({ signal }) => {
        stop = () => signal("SIGINT");
      },
      onError(text) {
        const rounds = text.split("Watching 1 file").length - 1;
        if (rounds <= seenRounds) return;
        seenRounds = rounds;
        const story = next.shift();
        if (story === undefined) stop();
        else void writeFile(path, story);
      },
    });
    assert.equal(exit, 130);
    assert.deepEqual(stdout.match(/advance \S+/g), ["advance PT1H", "advance PT2H"]);
    assert.deepEqual(stderr.split("\n").slice(1, 4), [
      "error: story.yaml:1:20: advance must be a text, got null.",
      "  - story.yaml:1:23: The step must have one of sign, decline and approve.",
      "  svc run --schema prints the JSON Schema of scenario files.",
    ]);
  });
});
