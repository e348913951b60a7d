import assert from "node:assert/strict";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { ExchangeRecorder } from "../../../src/verify/recorder.ts";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createSender, startTestEmulator } from "../../support/emulator.ts";
import { startDeviatingService } from "../../support/verify/deviating-service.ts";
import { plantedResponses } from "../../support/verify/planted-deviations.ts";

const base = "/api/v2.1/public";

/** A corpus of five exchanges with a service that uses another list limit. */
async function startWithRecordedCorpus(t: TestContext): Promise<CliEmulator> {
  const emulator = await startCliEmulator(t);
  const { svc } = emulator;
  const first = emulator.emulator.clusters[0]!;
  const deviation = plantedResponses["contracts.list:200:limit:value"]!;
  const service = await startDeviatingService(t, first.url, deviation, "responses");
  const proxy = startCommand(svc, ["verify", "proxy", "--to", service, "--out", "corpus", "--count", "5", "--json"]);
  await proxy.saw('"ready"');
  const { url } = proxy.events()[0] as { url: string };
  const api = createSender(url, { "client-id": first.clientId!, "client-secret": first.clientSecret! });
  await api("GET", `${base}/templates/`);
  await api("GET", `${base}/auth/users/`);
  const counter_party_details = [
    { is_individual: true, poc_details: { first_name: "Zelda", email: "zelda@acme.com" } },
  ];
  const body = { contract_template_id: 101, contract_data: {}, counter_party_details };
  await api("POST", `${base}/contracts/`, { body });
  await api("GET", `${base}/contracts/`);
  await api("GET", `${base}/contracts/T-77/status`);
  const { exit, stderr } = await proxy.completion;
  assert.deepEqual(
    { exit, recorded: /^Recorded 5 exchanges in corpus/m.test(stderr) },
    { exit: 0, recorded: true },
    stderr,
  );
  return emulator;
}

describe("svc verify proxy", () => {
  it("records exchanges without secrets and personal data", async (t) => {
    const { cwd, svc, emulator } = await startWithRecordedCorpus(t);
    const files = (await readdir(join(cwd, "corpus"))).sort();
    assert.deepEqual(
      files.map((name) => name.slice(6)),
      [
        "templates.list.exchange.json",
        "users.list.exchange.json",
        "contracts.create.exchange.json",
        "contracts.list.exchange.json",
        "contracts.status.exchange.json",
        "ndjson",
      ],
    );
    const all = (await Promise.all(files.map((name) => readFile(join(cwd, "corpus", name), "utf8")))).join("\n");
    const { clientId, clientSecret } = emulator.clusters[0]!;
    for (const secret of [clientId!, clientSecret!, "Zelda", "zelda@acme.com", "Ada Keller", "northwind"]) {
      assert.ok(!all.toLowerCase().includes(secret.toLowerCase()), secret);
    }
    const { exit, stderr } = await svc("verify scan corpus");
    assert.deepEqual({ exit, stderr: stderr.trim() }, { exit: 0, stderr: "Nothing suspicious in 5 exchanges" });
  });

  it("lists and counts interrupted exchanges", async (t) => {
    const { svc } = await startCliEmulator(t);
    const service = createServer((request, response) => {
      request.resume();
      if (request.url === "/whole") return void response.end("ok");
      response.writeHead(200, { "content-length": "10" });
      response.write("half", () => request.url!.startsWith("/broken") && response.destroy());
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      service.closeAllConnections();
      service.close();
    });
    const to = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const proxy = startCommand(svc, ["verify", "proxy", "--to", to, "--out", "corpus", "--json"]);
    await proxy.saw('"ready"');
    const { url } = proxy.events()[0] as { url: string };
    await assert.rejects(fetch(`${url}/broken?pin=1`).then((response) => response.text()));
    const leaving = new AbortController();
    const { body } = await fetch(`${url}/left`, { signal: leaving.signal });
    await body!.getReader().read();
    leaving.abort();
    await fetch(`${url}/whole`).then((response) => response.text());
    await proxy.saw("00001-");
    proxy.signal("SIGINT");
    const { stderr } = await proxy.completion;
    assert.deepEqual(
      stderr.split("\n").filter((line) => /recorded/i.test(line)),
      [
        "Not recorded: GET /broken has no complete response: the service closed the connection",
        "Not recorded: GET /left has no complete response: the client disconnected",
        "2 exchanges not recorded",
        "Recorded 1 exchange in corpus. Check with: svc verify scan corpus",
      ],
    );
  });

  it("rejects a folder whose corpus is complete", async (t) => {
    const { svc } = await startWithRecordedCorpus(t);
    const { exit, stderr } = await svc("verify proxy --to http://127.0.0.1:1 --out corpus");
    assert.equal(exit, 2);
    assert.match(stderr, /--out: .*corpus contains a complete corpus: choose another folder/);
  });
});

describe("svc verify scan", () => {
  it("exits with 1 for a secret that a user added and hides the secret", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const file = join(cwd, "corpus", "00005-contracts.status.exchange.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"accept: */*"', '"accept: */*", "x-owner: jane.doe@acme.com"'));
    assert.equal((await svc("verify scan corpus")).exit, 2);
    const { exit, stdout } = await svc("verify scan corpus --reindex --json");
    assert.equal(exit, 1);
    assert.deepEqual(JSON.parse(stdout), [
      {
        file: "00005-contracts.status.exchange.json",
        place: "request header x-owner",
        kind: "e-mail address",
        shown: "jan… (17 characters)",
      },
    ]);
  });
});

describe("svc verify scan --reindex", () => {
  it("accepts any edit, including added and removed files", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const file = (name: string) => join(cwd, "corpus", name);
    const created = await readFile(file("00003-contracts.create.exchange.json"), "utf8");
    await writeFile(
      file("00003-contracts.create.exchange.json"),
      created
        .replace('"contract_template_id": 101', '"note": "äöü",\n"contract_template_id": 101')
        .replace('"contract_status": "DRAFT"', '"contract_status": "ARCHIVED"')
        .replace(/\n$/, ""),
    );
    await writeFile(file("00006-contracts.create.exchange.json"), created);
    await rm(file("00002-users.list.exchange.json"));
    const edited = await svc("verify scan corpus --reindex");
    assert.deepEqual(edited, { ...edited, exit: 0, stderr: "Nothing suspicious in 5 exchanges\n" });
    assert.match((await svc("verify replay corpus")).stdout, /^contracts\.create:201:contract_status:/m);
  });

  it("completes a truncated index, whose lines have any order", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const index = join(cwd, "corpus", "index.ndjson");
    const text = await readFile(index, "utf8");
    await writeFile(index, text.slice(0, -30));
    assert.equal((await svc("verify replay corpus")).exit, 2);
    const { exit, stderr } = await svc("verify scan corpus --reindex");
    const [lines, linesBefore] = [await readFile(index, "utf8"), text].map((each) => each.split("\n").sort());
    assert.deepEqual([exit, stderr, lines], [0, "Nothing suspicious in 5 exchanges\n", linesBefore]);
  });

  it("reports a file that is no longer a valid exchange", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const file = join(cwd, "corpus", "00004-contracts.list.exchange.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"status": 200,', ""));
    const { exit, stderr } = await svc("verify scan corpus --reindex");
    assert.equal(exit, 2);
    assert.match(stderr, /00004-contracts\.list\.exchange\.json of .* cannot be read: response\.status is required\n/);
  });
});

describe("svc verify scan of an interrupted recording", () => {
  it("checks existing files, including a file missing from the index", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const index = join(cwd, "corpus", "index.ndjson");
    const lines = (await readFile(index, "utf8")).split("\n");
    await writeFile(index, `${lines.slice(0, 4).join("\n")}\n${lines[4]!.slice(0, 20)}`);
    const last = join(cwd, "corpus", "00005-contracts.status.exchange.json");
    await writeFile(
      last,
      (await readFile(last, "utf8")).replace('"accept: */*"', '"accept: */*", "x-owner: jane.doe@acme.com"'),
    );
    const { exit, stdout, stderr } = await svc("verify scan corpus --json");
    assert.deepEqual(
      { exit, files: JSON.parse(stdout).map(({ file }: { file: string }) => file), stderr },
      {
        exit: 1,
        files: ["00005-contracts.status.exchange.json"],
        stderr: "warning: corpus is unfinished: only recordings up to now are included\n",
      },
    );
    assert.equal((await svc("verify replay corpus")).exit, 2);
  });
});

describe("svc verify replay", () => {
  it("rejects a report within the corpus, also through a link", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const file = join("corpus", "00001-templates.list.exchange.json");
    const before = await readFile(join(cwd, file), "utf8");
    await symlink(join(cwd, "corpus"), join(cwd, "link"));
    for (const flag of ["--junit", "--markdown", "--reference"])
      for (const path of [file, join("corpus", "new.xml"), join("link", "00001-templates.list.exchange.json")]) {
        const { exit, stderr } = await svc(["verify", "replay", "corpus", flag, path]);
        assert.equal(exit, 2);
        assert.ok(stderr.startsWith(`error: ${flag} must not be in the folder of the corpus: ${path}\n`), stderr);
      }
    assert.equal(await readFile(join(cwd, file), "utf8"), before);
  });

  it("fails with a reason if nothing can be compared", async (t) => {
    const { cwd, svc } = await startCliEmulator(t);
    const recorder = await ExchangeRecorder.open(join(cwd, "corpus"));
    const response = { status: 200, headers: [], body: Buffer.alloc(0) };
    for (const target of ["/a", "/b", "/c"])
      await recorder.add({ at: 0, request: { method: "GET", target, headers: [], body: Buffer.alloc(0) }, response });
    await recorder.close();
    const { exit, stdout } = await svc("verify replay corpus --junit verify.xml");
    assert.equal(exit, 1);
    assert.match(
      stdout,
      /^0 of 3 exchanges compared: .*\n {2}3 not compared, or only in part: no declared operation has this method and path\nNothing was compared\n$/,
    );
    assert.match(await readFile(join(cwd, "verify.xml"), "utf8"), /<failure message="nothing was compared">/);
  });

  it("exits with 3 on drift and with 0 once the drift is accepted with a reason", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const drift = await svc("verify replay corpus --junit verify.xml --markdown verify.md");
    assert.equal(drift.exit, 3, drift.stderr);
    assert.match(
      drift.stdout,
      /^contracts\.list:200:limit:value\n {2}limit \(value\): the service has 25, the emulator has 10\n/,
    );
    assert.match(
      await readFile(join(cwd, "verify.xml"), "utf8"),
      /<testcase name="contracts\.list"[^>]*>\n\s*<failure message="1 difference">/,
    );
    assert.match(await readFile(join(cwd, "verify.md"), "utf8"), /^### svc verify: 1 difference\n/);
    assert.equal((await svc("verify replay corpus --accept contracts.list:200:limit:value")).exit, 2);
    const { stderr } = await svc("verify replay corpus --against staging --reference reference.md");
    assert.equal(stderr, "error: --reference cannot be used with --against staging\n  See svc verify replay --help.\n");
    const argv = ["verify", "replay", "corpus", "--accept", "contracts.list:200:limit:value", "--reason", "known"];
    assert.equal((await svc(argv)).exit, 0);
    const { exit, stdout } = await svc("verify replay corpus --json");
    const { drift: remainingDrift, summary, differences, claims } = JSON.parse(stdout);
    assert.equal(exit, 0);
    assert.deepEqual(
      {
        left: remainingDrift,
        confirmed: summary.confirmed,
        refuted: summary.refuted,
        accepted: differences.map((one: { accepted: string }) => one.accepted),
      },
      { left: 0, confirmed: 5, refuted: 0, accepted: ["known"] },
    );
    assert.deepEqual(claims.map(({ claim }: { claim: string }) => claim).sort(), [
      "contracts.create",
      "contracts.list",
      "contracts.status not-found",
      "templates.list",
      "users.list",
    ]);
  });

  it("sends a service at most --rate requests per second", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const times: number[] = [];
    const service = createServer((request, response) => {
      times.push(systemWallClock.monotonicNow());
      request.resume();
      response.end("{}");
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    t.after(() => service.close().closeAllConnections());
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const profile = { router_url: url, contracts_url: url, client_id: "other", client_secret: "other" };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles: { other: profile } }), { mode: 0o600 });
    const env = {
      SVC_BASE_URL: "",
      SVC_CONTRACTS_URL: "",
      SVC_ROUTER_URL: "",
      SVC_CLIENT_ID: "",
      SVC_CLIENT_SECRET: "",
    };
    await svc("verify replay corpus --against other --rate 10", { env });
    assert.ok(times.length >= 3, `${times.length} requests`);
    assert.ok(times.at(-1)! - times[0]! >= (times.length - 1) * 95, `${times}`);
  });

  it("explains why a folder is not a corpus", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    await rm(join(cwd, "corpus", "00001-templates.list.exchange.json"));
    const { exit, stderr } = await svc("verify replay corpus");
    assert.equal(exit, 2);
    assert.match(stderr, /<folder>: .*corpus is incomplete: 00001-templates\.list\.exchange\.json is missing/);
  });
});

describe("--observed", () => {
  it("works with the emulator in the background", async (t) => {
    const { svc } = await startWithRecordedCorpus(t);
    const env = {
      SVC_BASE_URL: "",
      SVC_CONTRACTS_URL: "",
      SVC_ROUTER_URL: "",
      SVC_EMULATOR_URL: "",
      SVC_EMULATOR_TOKEN: "",
    };
    const result = await svc("emulator start --detach --port 0 --observed corpus --json", { env });
    assert.equal(result.exit, 0, result.stderr);
    const list = await svc("contracts list --json", { env: { ...env, SVC_CLIENT_ID: "", SVC_CLIENT_SECRET: "" } });
    const stopped = await svc("emulator stop", { env });
    assert.deepEqual(
      { limit: JSON.parse(list.stdout || "{}").limit, stopped: stopped.exit },
      { limit: 25, stopped: 0 },
      list.stderr,
    );
  });

  it("makes svc emulator exec respond like the recorded service", async (t) => {
    const { svc } = await startWithRecordedCorpus(t);
    const script = `fetch(process.env.SVC_CONTRACTS_URL + "${base}/contracts/", { headers: { "client-id": process.env.SVC_CLIENT_ID, "client-secret": process.env.SVC_CLIENT_SECRET } }).then((r) => r.json()).then(({ limit }) => console.log(limit))`;
    const { exit, stdout, stderr } = await svc([
      "emulator",
      "exec",
      "--observed",
      "corpus",
      "--",
      process.execPath,
      "-e",
      script,
    ]);
    assert.deepEqual({ exit, stdout: stdout.trim() }, { exit: 0, stdout: "25" }, stderr);
  });

  it("rejects an invalid corpus before the emulator starts", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc("emulator exec --observed nowhere -- true");
    assert.equal(exit, 2);
    assert.match(stderr, /nowhere is not a corpus: it has no index\.ndjson/);
  });

  it("appears in svc openapi, in the emulator's document and findings, and in the reference", async (t) => {
    const { cwd, svc } = await startWithRecordedCorpus(t);
    const marked = (document: unknown) => {
      const { paths } = document as { paths: Record<string, { get: Record<string, unknown> }> };
      const { get } = paths[`${base}/contracts/`]!;
      return [get["x-basis"], get["x-observed"]];
    };
    const timeOf = async (file: string) =>
      JSON.parse(await readFile(join(cwd, "corpus", `${file}.exchange.json`), "utf8")).at;
    const [list, status] = [await timeOf("00004-contracts.list"), await timeOf("00005-contracts.status")];
    const differs = ["contracts.list:200:limit:value"];
    const mark = ["observed", { times: 1, last: list, differs }];
    assert.deepEqual(marked(JSON.parse((await svc("openapi contracts --observed corpus")).stdout)), mark);

    const observing = await startTestEmulator(t, { observed: join(cwd, "corpus") });
    assert.deepEqual(marked((await observing.control("GET", "/openapi/contracts.json")).body), mark);
    await observing.api("GET", `${base}/contracts/`);
    const { body } = await observing.control("GET", "/requests?operation=contracts.list");
    assert.deepEqual((body as { items: readonly { findings: unknown }[] }).items[0]!.findings, [
      { code: "observed", detail: `contracts.list:200:limit:value (observed 1 time, last at ${list})` },
    ]);

    assert.equal((await svc("verify replay corpus --reference reference.md")).exit, 3);
    const stored = join(cwd, "corpus", "observations.json");
    await writeFile(stored, (await readFile(stored, "utf8")).replace('"differs": [', '"differs": [7,'));
    assert.deepEqual(marked(JSON.parse((await svc("openapi contracts --observed corpus")).stdout)), mark, "damaged");
    const page = await readFile(join(cwd, "reference.md"), "utf8");
    // The page only has what can be observed: no flags, commands of several requests or exit codes.
    assert.deepEqual(
      [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title),
      [
        "Routing service",
        "Public contract API",
        "Signed storage",
        "Emulator control plane",
        "Public routes that are not emulated",
        "Lifecycle of a contract",
        "Activities",
        "Failures",
      ],
    );
    const section = page.split("### contracts.list\n")[1]!.split("\n### ")[0]!;
    assert.ok(section.includes(`- Basis: observed 1 time, last at ${list}; differs: ${differs}\n`), section);
    assert.match(page, new RegExp(`^\\| \`not-found\` .* \\| observed 1 time, last at ${status} \\|$`, "m"));
  });
});
