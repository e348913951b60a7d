import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pluralize } from "../../../src/base/text.ts";
import { readCorpus } from "../../../src/verify/corpus.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createContractRequest } from "../../support/contracts.ts";
import { createSender } from "../../support/emulator.ts";
import { type Deviation, startDeviatingService } from "../../support/verify/deviating-service.ts";
import { populateService, recordSession } from "../../support/verify/recorded-session.ts";

const readOperations = async (folder: string) => (await readCorpus(folder)).exchanges.map(({ operation }) => operation);

describe("svc verify record", () => {
  it("reads without changes and a replay confirms the emulator", async (t) => {
    const { cwd, svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc("verify record --out corpus --rate 1000");
    assert.equal(exit, 0, stderr);
    const { exchanges } = await readCorpus(join(cwd, "corpus"));
    const methods = new Set(exchanges.map(({ request }) => request.method));
    assert.deepEqual([...methods].sort(), ["GET", "PUT"]);
    assert.ok(exchanges.length > 30, `${exchanges.length}`);
    assert.equal((await svc("verify scan corpus")).exit, 0);
    const replay = await svc("verify replay corpus");
    assert.equal(replay.exit, 0, replay.stdout);
    assert.deepEqual(await svc("verify replay corpus --fields drift"), { exit: 0, stdout: "0\n", stderr: "" });
    assert.equal((await svc("verify replay corpus --fields drifft")).exit, 2);
  });

  it("reports no drift for existing objects of a service", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await populateService(emulator, 12);
    const { exit, stderr } = await svc("verify record --out corpus --allow-writes --yes --rate 1000");
    assert.equal(exit, 0, stderr);
    const scanned = await svc("verify scan corpus");
    assert.equal(scanned.exit, 0, scanned.stdout);
    const replay = await svc("verify replay corpus");
    assert.equal(replay.exit, 0, replay.stdout);
    assert.match(
      replay.stdout,
      /^ {2}3 not compared, or only in part: results contains items from before the recording$/m,
    );
    assert.match(replay.stdout, /^ {2}1 not compared, or only in part: intake_id 12 was there before the recording$/m);
  });

  it("prints the most frequent reasons why exchanges are not compared", async (t) => {
    const { cwd, svc, emulator } = await startCliEmulator(t);
    await populateService(emulator, 25);
    const session = await recordSession(t, emulator, join(cwd, "corpus"));
    for (let id = 1; id <= 25; id += 1) await session.api("GET", `/api/v2.1/public/contracts/T-${id}/status`);
    await session.api("GET", "/api/v2.1/public/contracts/T-25/status");
    await session.end();
    const { exit, stdout } = await svc("verify replay corpus --markdown report.md");
    const reasons = stdout.split("\n").filter((line) => line.startsWith("  "));
    assert.deepEqual(
      [exit, reasons.length, reasons[0], reasons.at(-1)],
      [
        0,
        21,
        "  2 not compared, or only in part: T-25 was there before the recording",
        "  … and 5 more reasons. For all: --json",
      ],
    );
    assert.match(await readFile(join(cwd, "report.md"), "utf8"), /^- … and 5 more reasons\. For all: --json$/m);
  });

  it("records a service whose values have other types, and a replay reports them", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const deviate: Deviation = (passing) => {
      passing.text = JSON.stringify(passing.json)?.replaceAll(/"contract_type_id":(\d+)/g, '"contract_type_id":"$1"');
    };
    const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
    const service = await startDeviatingService(t, url, deviate, "responses");
    const env = { SVC_CONTRACTS_URL: service, SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret };
    const { exit, stderr } = await svc("verify record --out corpus --rate 1000", { env });
    assert.equal(exit, 0, stderr);
    const replay = await svc("verify replay corpus");
    assert.equal(replay.exit, 3);
    assert.match(replay.stdout, /items\[\]\.contract_type_id \(type\): the service has "301", the emulator has 301$/m);
  });

  it("announces its actions and starts only after confirmation", async (t) => {
    const { svc } = await startCliEmulator(t);
    const plan = await svc("verify record --out corpus --allow-writes --plan");
    assert.equal(plan.exit, 0);
    assert.match(
      plan.stdout,
      /^Create a contract from the first template, send it to svc-verify@example\.com, and void it$/m,
    );
    const { exit, stderr } = await svc("verify record --out corpus --allow-writes");
    assert.equal(exit, 2);
    assert.match(stderr, /--yes required when not running interactively/);
  });

  it("leaves no objects behind after a journey", async (t) => {
    const { cwd, svc, json } = await startCliEmulator(t);
    const { exit, stderr } = await svc("verify record --out corpus --allow-writes --yes --rate 1000");
    assert.equal(exit, 0, stderr);
    const operations = await readOperations(join(cwd, "corpus"));
    for (const operation of [
      "webhooks.create",
      "webhooks.delete",
      "contracts.create",
      "contracts.send",
      "execution.void",
      "storage.put",
    ])
      assert.ok(operations.includes(operation), operation);
    assert.deepEqual(await json("emulator webhooks"), []);
    const { results } = await json<{ results: { contract_status: string }[] }>("contracts list");
    assert.deepEqual(
      results.map(({ contract_status }) => contract_status),
      ["VOIDED"],
    );
    const replay = await svc("verify replay corpus");
    assert.equal(replay.exit, 0, replay.stdout);
  });

  const journeyDeviations: readonly (readonly [service: string, notRemoved: string, deviate: Deviation])[] = [
    [
      "has IDs of another type",
      "",
      ({ json }) => Object.assign(json as object, { id: String((json as { id: number }).id) }),
    ],
    ["sends compressed responses", "", (passing) => Object.assign(passing, { isCompressed: true })],
    [
      "sends no IDs",
      "warning: not removed: webhook svc-verify-NAME: the response to its creation has no ID",
      ({ json }) => Object.assign(json as object, { id: undefined }),
    ],
  ];
  for (const [service, notRemoved, deviate] of journeyDeviations) {
    it(`reports each object that it leaves behind at a service that ${service}`, async (t) => {
      const { svc, json, emulator } = await startCliEmulator(t);
      const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
      const deviateWebhook: Deviation = (passing) => {
        if (/^POST .*\/webhooks\/$/.test(passing.label) && passing.status === 201) deviate(passing);
      };
      const to = await startDeviatingService(t, url, deviateWebhook, "responses");
      const env = { SVC_CONTRACTS_URL: to, SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret };
      const run = await svc("verify record --out corpus --allow-writes --yes --rate 1000", { env });
      const warnings = run.stderr.split("\n").filter((line) => line.startsWith("warning"));
      const webhooks = await json<unknown[]>("emulator webhooks");
      assert.deepEqual(
        [run.exit, warnings.join("\n").replace(/svc-verify-[0-9a-f]+/, "svc-verify-NAME"), webhooks.length],
        notRemoved === "" ? [0, "", 0] : [1, notRemoved, 1],
      );
    });
  }

  it("removes its objects after Ctrl-C and can continue", async (t) => {
    const { cwd, svc, json } = await startCliEmulator(t);
    const argv = ["verify", "record", "--out", "corpus", "--allow-writes", "--yes", "--rate", "50"];
    const recording = startCommand(svc, argv);
    const created = async (): Promise<boolean> =>
      (await readdir(join(cwd, "corpus")).catch(() => [] as string[])).some((name) => name.includes("contracts.send"));
    while (!(await created())) await new Promise(setImmediate);
    recording.signal("SIGINT");
    const { exit, stderr } = await recording.completion;
    assert.equal(exit, 130, stderr);
    const { results } = await json<{ results: { contract_status: string }[] }>("contracts list");
    assert.deepEqual(
      results.map(({ contract_status }) => contract_status),
      ["VOIDED"],
    );
    await assert.rejects(readCorpus(join(cwd, "corpus")), /has no end/);
    assert.equal((await svc([...argv.slice(0, -1), "1000"])).exit, 0);
    const keys = new Set(
      (await readCorpus(join(cwd, "corpus"))).exchanges.map(
        ({ request }) => request.headers.find(([name]) => name === "client-id")?.[1],
      ),
    );
    // Both parts use the same stand-in. Requests without credentials have none.
    assert.deepEqual([...keys].filter((key) => key !== undefined).length, 1);
    assert.deepEqual(await readdir(join(cwd, "state", "verify")), []);
  });

  it("sends no credentials of another service", async (t) => {
    const { cwd, svc } = await startCliEmulator(t);
    await writeFile(join(cwd, "note"), "");
    assert.equal((await svc("verify record --out corpus --rate 1000")).exit, 0);
    const texts = await Promise.all(
      (await readdir(join(cwd, "corpus"))).map((name) => readFile(join(cwd, "corpus", name), "utf8")),
    );
    assert.ok(!texts.join().includes("ada@northwind.example"));
  });
});

describe("svc verify proxy", () => {
  it("continues an interrupted recording, and names its number of exchanges", async (t) => {
    const { cwd, svc, emulator } = await startCliEmulator(t);
    const recording = startCommand(svc, ["verify", "record", "--out", "corpus", "--rate", "50"]);
    while ((await readdir(join(cwd, "corpus")).catch(() => [])).length < 3) await new Promise(setImmediate);
    recording.signal("SIGINT");
    assert.equal((await recording.completion).exit, 130);
    const before = (await readCorpus(join(cwd, "corpus"), { isInterruptedAllowed: true })).exchanges.length;

    const { url: to, clientId, clientSecret } = emulator.clusters[0]!;
    const recordOne = async (folder: string) => {
      const proxy = startCommand(svc, ["verify", "proxy", "--to", to, "--out", folder, "--count", "1", "--json"]);
      await proxy.saw('"ready"');
      const { url } = proxy.events()[0] as { url: string };
      const api = createSender(url, { "client-id": clientId!, "client-secret": clientSecret! });
      // Browsers send the cookies of all programs on localhost.
      const headers = { cookie: "x".repeat(60_000) };
      assert.equal((await api("GET", "/api/v2.1/public/templates/", { headers })).status, 200);
      assert.equal((await proxy.completion).exit, 0);
      const recorded = (await readOperations(join(cwd, folder))).length;
      return { recorded, err: proxy.stderr().replaceAll(url, "URL").replaceAll(to, "TO").split("\n").slice(0, -2) };
    };
    const ready = "Recording on URL; requests go to TO (press Ctrl-C to stop)";
    assert.deepEqual(await recordOne("corpus"), {
      recorded: before + 1,
      err: [`Continuing a corpus of ${pluralize(before, "exchange")}`, ready],
    });
    assert.deepEqual(await recordOne("other"), { recorded: 1, err: [ready] });
  });
});

describe("svc verify proxy with svc webhooks listen --save", () => {
  it("records webhooks without their creation, and a replay confirms the recording", async (t) => {
    const { cwd, svc, emulator } = await startCliEmulator(t);
    const first = emulator.clusters[0]!;
    const proxy = startCommand(svc, [
      "verify",
      "proxy",
      "--to",
      first.url,
      "--out",
      "corpus",
      "--count",
      "3",
      "--json",
    ]);
    await proxy.saw('"ready"');
    const { url } = proxy.events()[0] as { url: string };
    const api = createSender(url, { "client-id": first.clientId!, "client-secret": first.clientSecret! });
    await api("GET", "/api/v2.1/public/templates/");
    const listening = startCommand(svc, ["webhooks", "listen", "--save", "corpus", "--count", "3", "--json"]);
    await listening.saw('"ready"');
    await api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    await emulator.clock.advance({ by: 1_000 });
    assert.equal((await listening.completion).exit, 0);
    await api("GET", "/api/v2.1/public/contracts/");
    assert.equal((await proxy.completion).exit, 0);
    assert.deepEqual((await readOperations(join(cwd, "corpus"))).sort(), [
      "CONTRACT_CREATED",
      "COUNTER_PARTY_CONTACT_CREATED",
      "COUNTER_PARTY_CREATED",
      "contracts.create",
      "contracts.list",
      "templates.list",
    ]);
    const { exit, stdout } = await svc("verify replay corpus");
    assert.equal(exit, 0, stdout);
    assert.match(stdout, /^6 of 6 exchanges compared: 6 claims confirmed, 0 refuted/);
  });

  it("listens only on an address of this machine", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const host of ["", "192.0.2.1"]) {
      const proxy = startCommand(svc, [
        "verify",
        "proxy",
        "--to",
        "http://localhost:9",
        "--out",
        "c",
        "--json",
        "--host",
        host,
      ]);
      void proxy.saw("ready").then(
        () => proxy.signal("SIGINT"),
        () => {},
      );
      const { exit, stderr } = await proxy.completion;
      assert.deepEqual([exit, /--host must be an address of this machine/.test(stderr)], [2, true], stderr);
    }
  });

  it("leaves its connection to the next request if the service rejects an upload early", async (t) => {
    const reject = "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n";
    const service = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(reject)));
    await once(service.listen(0, "127.0.0.1"), "listening");
    t.after(() => service.close());
    const { svc } = await startCliEmulator(t);
    const to = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const proxy = startCommand(svc, ["verify", "proxy", "--to", to, "--out", "corpus", "--count", "2", "--json"]);
    await proxy.saw('"ready"');
    const { host, port } = new URL((proxy.events()[0] as { url: string }).url);
    const rest = "x".repeat(4 << 20);
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.write(`PUT /files/1 HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${1 + rest.length}\r\n\r\nx`);
    let received = "";
    for await (const piece of socket) {
      if (received === "") socket.write(`${rest}GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      received += piece;
    }
    assert.deepEqual(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 413", "HTTP/1.1 413"]);
    assert.equal((await proxy.completion).exit, 0);
  });
});
