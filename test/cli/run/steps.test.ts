import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../structure/repository.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { contract, runStory } from "./story.ts";

describe("steps of svc run", () => {
  it("runs ten shipped journeys of at most 20 lines", async () => {
    const folder = join(root, "fixtures/scenarios");
    const files = readdirSync(folder);
    const long = files.filter((file) => readFileSync(join(folder, file), "utf8").trim().split("\n").length > 20);
    const { exit, stdout, stderr } = await runCli(["run", ...files, "--jobs", "1", "--format", "ndjson"], {
      cwd: folder,
    });
    const failed = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ ok }) => !ok);
    assert.deepEqual([files.length, long, exit, stderr, failed], [10, [], 0, "", []]);
  });

  it("explains a failed command that reports its failure only in its result", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - svc: webhooks create --title x --url http://127.0.0.1:9/h --only-for-activities CONTRACT_CREATED
  - svc: webhooks trigger CONTRACT_CREATED
`,
    );
    assert.equal(exit, 1);
    assert.match(stdout, /exit 1: 1 {2}1 {2}http:\/\/127\.0\.0\.1:9\/h {2}The receiver refused the connection\. /);
  });

  it("says that a command line needs --json if its result is read", async (t) => {
    for (const use of ["save: { first: results.0.id }", "expect: { json: { total_results: 0 } }"]) {
      const { exit, stdout } = await runStory(t, `steps: [{ svc: contracts list, ${use} }]`);
      assert.equal(exit, 1);
      assert.match(stdout, /^ {14}the output is not JSON: add --json to the command line {2}\(story\.yaml:1:11\)$/m);
    }
  });

  it("says that a command printed no result if it has --json", async (t) => {
    const { exit, stdout } = await runStory(t, "steps: [{ svc: emulator metrics --json, save: all }]");
    const message = "              the command line printed no JSON, so it has no result to read  (story.yaml:1:11)";
    assert.deepEqual([exit, stdout.split("\n")[2]], [1, message]);
  });

  it("merges anchored maps with <<", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - { call: contracts.create, body: &contract ${contract} }
  - call: contracts.create
    body: { <<: *contract, contract_name: Merged }
    expect: { json: { contract_name: Merged } }
`,
    );
    assert.equal(exit, 0, stdout);
  });

  it("saves numbers that a double would change, and inserts them unchanged", async (t) => {
    const data = "{ id: d, integration_name: crm, record_type: deal, record_data: $values }";
    const { exit, stdout } = await runStory(
      t,
      `
files:
  body.json: '{"external_metadata":{"id":"d","integration_name":"crm","record_type":"deal","record_data":{"big":12345678901234567890,"price":1.10}}}'
steps:
  - { call: contracts.create, body: ${contract}, save: { contract: id } }
  - svc: contracts external-metadata put $contract --data body.json
  - { call: external-metadata.show, params: { contract_id: $contract }, save: { values: external_metadata.record_data } }
  - { call: contracts.create, body: ${contract}, save: { copy: id } }
  - { call: external-metadata.put, params: { contract_id: $copy }, body: { external_metadata: ${data} } }
  - svc: contracts external-metadata show $copy --json
    save: { big: external_metadata.record_data.big }
    expect:
      text: ['"big": 12345678901234567890', '"price": 1.10']
      json: { external_metadata.record_data: $values }
  - svc: contracts external-metadata put $copy --data body.json --set external_metadata.record_data.text="n $big"
    expect: { text: n 12345678901234567890 }
`,
    );
    assert.equal(exit, 0, stdout);
  });

  it("prints a line for each step", async (t) => {
    const { exit, stdout, stderr } = await runStory(
      t,
      `
name: A contract is signed
steps:
  - { receiver: app, responses: [500, 200], subscribe: [CONTRACT_CREATED] }
  - { call: contracts.create, body: ${contract}, save: { contract: id } }
  - { call: contracts.send, params: { composite_id: $contract }, title: Send it }
  - { as: jo@acme.example, sign: $contract }
  - { svc: contracts status $contract --json, expect: { json: { contract_status: EXECUTED } } }
  - { fault: { direction: outgoing, effect: duplicate, webhook: "\${app.webhook}" } }
  - { advance: PT5M }
  - { expect: { deliveries: [{ to: app, contract: $contract, responses: [500, 200] }] } }
`,
    );
    assert.deepEqual(
      [exit, stdout.replace(/\d+\.\d s/, "0.1 s"), stderr],
      [
        0,
        `story.yaml  A contract is signed
  ok       1  receiver app responds 500, 200  subscribed to 1 activity
  ok       2  call contracts.create  201 T-1 DRAFT
  ok       3  Send it  200
  ok       4  as jo@acme.example sign T-1  200 T-1 EXECUTED
  ok       5  svc contracts status T-1 --json
  ok       6  fault outgoing: effect duplicate, webhook 1
  ok       7  advance PT5M  1 scheduled entry
  ok       8  expect deliveries

1 scenario, 1 passed, 0 failed, 0.1 s
`,
        "",
      ],
    );
  });

  it("shows a difference at the position of its expectation, with the trace of events", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - { call: contracts.create, body: ${contract}, save: { contract: id } }
  - call: contracts.send
    params: { composite_id: $contract }
  - expect:
      activities: [CONTRACT_SIGNATURE_REQUESTED, CONTRACT_SIGNED]
  - { advance: PT1H }
`,
    );
    const [verdict, ...trace] = stdout.split("  trace of T-1\n");
    assert.deepEqual(
      [exit, verdict],
      [
        1,
        `story.yaml
  ok       1  call contracts.create  201 T-1 DRAFT
  ok       2  call contracts.send  200
  failed   3  expect activities
              activities.1: CONTRACT_SIGNED did not happen after CONTRACT_SIGNATURE_REQUESTED; seen: COUNTER_PARTY_CREATED, COUNTER_PARTY_CONTACT_CREATED, CONTRACT_CREATED, CONTRACT_SIGNATURE_REQUESTED, CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT, CONTRACT_PROCESS_METRIC_UPDATED  (story.yaml:6:19)
  1 step was not run
`,
      ],
    );
    assert.match(trace.join(), /contracts\.send POST .*\n.*CONTRACT_SIGNATURE_REQUESTED T-1/s);
  });

  it("fails a step with a rejected request or with a nonzero exit code", async (t) => {
    const { exit, stdout } = await runStory(t, "steps: [{ call: contracts.status, params: { composite_id: T-9 } }]");
    const otherRun = await runStory(t, "steps: [{ svc: contracts status T-9 }]");
    const jsonRun = await runStory(t, "steps: [{ svc: contracts status T-9 --json }]");
    assert.deepEqual([exit, otherRun.exit, jsonRun.exit], [1, 1, 1]);
    assert.match(
      stdout,
      /failed {3}1 {2}call contracts\.status .*404.*\n {14}contracts\.status responded 404 \(\S+\): .*\(story\.yaml:1:11\)/,
    );
    for (const { stdout } of [otherRun, jsonRun])
      assert.match(stdout, /\n {14}exit 5: Contract T-9 not found \(HTTP 404\) {2}\(story\.yaml:1:11\)/);
    assert.match(otherRun.stdout, /failed {3}1 {2}svc contracts status T-9 {2}exit 5\n/);
  });

  it("expects failures by status, failure code and exit code", async (t) => {
    const story = `
steps:
  - { call: contracts.status, params: { composite_id: T-9 }, expect: { status: 404 } }
  - { call: contracts.create, body: { contract_template_id: none }, expect: { status: 400 } }
  - { svc: contracts status T-9, expect: { exit: 5 } }
  - { as: next, sign: T-9, expect: { failure: no-such-contract } }
`;
    const { exit, stdout } = await runStory(t, story);
    assert.equal(exit, 0, stdout);
    assert.deepEqual(stdout.match(/ {2}\S+ \S+\)$|exit 5$/gm), [
      "  404 (not-found)",
      "  400 (invalid-fields)",
      "exit 5",
      "  404 (no-such-contract)",
    ]);
  });

  it("explains an unexpected status or failure code by the response", async (t) => {
    const readMessage = async (expected: string) => {
      const call = "call: contracts.create, body: { contract_template_id: none }";
      const { stdout } = await runStory(t, `steps: [{ ${call}, expect: { ${expected} } }]`);
      return stdout.split("\n")[2]!.trim();
    };
    assert.match(
      await readMessage("status: 201"),
      /^status: expected 201, got 400 \(contracts\.create responded 400 \(invalid-fields\): .*contract_template_id: .*\)/,
    );
    assert.match(
      await readMessage("failure: forbidden-move"),
      /^failure: expected "forbidden-move", got "invalid-fields" \(contracts\.create responded 400 .*contract_template_id: /,
    );
  });

  it("repeats steps for each value of a list", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - for each: { email: [jo@acme.example, kim@acme.example] }
    steps:
      - { svc: [emulator, invitations, --json] }
      - { call: contracts.create, body: { contract_template_id: 101, contract_data: {}, counter_party_details: [{ is_individual: true, poc_details: { first_name: Jo, email: $email } }] } }
`,
    );
    assert.equal(exit, 0, stdout);
    assert.deepEqual(
      [...stdout.matchAll(/ok +(\S+) {2}call .*(T-\d)/g)].map(([, number, id]) => [number, id]),
      [
        ["1.1.2", "T-1"],
        ["1.2.2", "T-2"],
      ],
    );
  });

  it("counts the steps after a failed one, with each loop as one step", async (t) => {
    const loop = (id: string) => `{ for each: { id: [T-1, ${id}] }, steps: [{ svc: contracts status $id }] }`;
    const run = async (steps: string[]) =>
      (await runStory(t, `steps: [${steps.join()}]`)).stdout.match(/.* not run$/m)?.[0].trim();
    const [good, bad, plain] = [loop("T-1"), loop("T-9"), `{ call: contracts.create, body: ${contract} }`];
    const failed = "{ svc: contracts status T-9 }";
    assert.deepEqual(
      [await run([plain, good, failed, plain]), await run([plain, bad, plain, plain]), await run([plain, bad])],
      ["1 step was not run", "2 steps were not run", undefined],
    );
  });

  it("names a value that does not exist in a loop or in an expectation", async (t) => {
    const readFailure = async (step: string) => {
      const { exit, stdout } = await runStory(
        t,
        `steps:\n  - { svc: contracts list --json, save: all }\n  - ${step}\n`,
      );
      return [exit, stdout.split("\n").slice(2, 4)];
    };
    assert.deepEqual(await readFailure(`for each: { page: "$\{all.next}" }\n    steps: [{ advance: PT1H }]`), [
      1,
      ["  failed   2  for each page", "              $all has no next  (story.yaml:3:23)"],
    ]);
    assert.deepEqual(await readFailure(`expect: { json: { id: "$\{all.next}" } }`), [
      1,
      ["  failed   2  expect json", "              $all has no next  (story.yaml:3:13)"],
    ]);
  });

  it("counts the items of an expected list", async (t) => {
    const templates =
      "steps:\n  - { svc: contracts templates list --json, expect: { json: { items: [{ id: 101 }] } } }\n";
    const { stdout } = await runStory(t, templates);
    assert.match(stdout, /expected 1 item, got 4 /);
  });

  it("shows how the nearest delivery differs from an expected one", async (t) => {
    const readMessage = async (deliveries: string) => {
      const story = `
steps:
  - { receiver: app, subscribe: [CONTRACT_CREATED, CONTRACT_SIGNATURE_REQUESTED] }
  - { call: contracts.create, body: ${contract} }
  - { call: contracts.send, params: { composite_id: T-1 } }
  - { expect: { deliveries: ${deliveries} } }
`;
      const { stdout } = await runStory(t, story);
      return /(deliveries\.\d: .*?) {2}\(story/.exec(stdout)?.[1] ?? stdout;
    };
    const requested = "CONTRACT_SIGNATURE_REQUESTED T-1 to app delivered after 1 (200)";
    const seen = `seen: CONTRACT_CREATED T-1 to app delivered after 1 (200); ${requested}`;
    assert.equal(
      await readMessage("[{ activity: CONTRACT_SIGNATURE_REQUESTED, attempts: 2, responses: [500] }]"),
      `deliveries.0: no delivery with {"activity":"CONTRACT_SIGNATURE_REQUESTED","attempts":2,"responses":[500]}; nearest: 2. ${requested}: attempts: expected 2, got 1, responses.0: expected 500, got 200; ${seen}`,
    );
    assert.equal(
      await readMessage("[{ activity: CONTRACT_SIGNATURE_REQUESTED }, { activity: CONTRACT_CREATED }]"),
      `deliveries.1: no delivery after the one before with {"activity":"CONTRACT_CREATED"}; nearest: 1. CONTRACT_CREATED T-1 to app delivered after 1 (200): it came earlier; ${seen}`,
    );
  });

  it("shows what an empty expectation would contain", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - { receiver: app, subscribe: [CONTRACT_CREATED] }
  - { call: contracts.create, body: ${contract} }
  - expect: { activities: , deliveries: , webhooks: }
`,
    );
    const messages = stdout.match(/^ {14}\S.*(?= {2}\(story)/gm)?.map((message) => message.trim());
    assert.deepEqual(
      [exit, messages],
      [
        1,
        [
          "activities: expected a value; seen: COUNTER_PARTY_CREATED, COUNTER_PARTY_CONTACT_CREATED, CONTRACT_CREATED",
          "deliveries: expected a value; seen: CONTRACT_CREATED T-1 to app delivered after 1 (200)",
          'webhooks: expected a value, got {"app":"ACTIVE"}',
        ],
      ],
    );
  });

  it("compares all of many deliveries", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `
steps:
  - { receiver: app, subscribe: [CONTRACT_SIGNED] }
  - { svc: webhooks trigger CONTRACT_SIGNED }
  - for each: { n: [${Array(50).fill(1)}] }
    steps:
      - { call: webhooks.create, body: { title: x, url: "$\{app.url}", only_for_activities: [CONTRACT_CREATED] } }
  - for each: { n: [${Array(10).fill(1)}] }
    steps: [{ call: contracts.create, body: ${contract} }]
  - { expect: { deliveries: [{ to: app, activity: CONTRACT_SIGNED }] } }
`,
    );
    assert.equal(exit, 0, stdout);
  });

  it("sends webhooks to the author's program", async (t) => {
    const app = await startReceiver(t);
    const story = `
steps:
  - { receiver: app, url: "${app.url}", subscribe: all }
  - { call: contracts.create, body: ${contract} }
  - { expect: { deliveries: [{ to: app, activity: CONTRACT_CREATED, outcome: delivered }] } }
`;
    const { exit, stdout } = await runStory(t, story);
    assert.deepEqual([exit, app.received.length > 0], [0, true], stdout);
  });

  it("waits for a program that takes longer to respond than the clock waits", async (t) => {
    const [app, silentApp] = [await startReceiver(t), await startReceiver(t)];
    const { api, clock } = await startTestEmulator(t);
    silentApp.respond(() => {});
    const webhook = { title: "x", url: silentApp.url, only_for_activities: ["CONTRACT_CREATED"] };
    await api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    await api("POST", "/api/v2.1/public/contracts/", { body: JSON.parse(ndaContractJson) });
    app.respond(async (_, response) => {
      // The clock of the scenario gives up once during these two times.
      for (const _ of [1, 2]) await assert.rejects(clock.advance({ by: 1 }), { name: "DeliveryUnderWayError" });
      response.writeHead(200).end();
    });
    const delivery = "{ to: app, activity: CONTRACT_CREATED, outcome: delivered }";
    for (const next of [`expect: { deliveries: [${delivery}] }`, "advance: PT1H"]) {
      const { exit, stdout, stderr } = await runStory(
        t,
        `
steps:
  - { receiver: app, url: "${app.url}", subscribe: [CONTRACT_CREATED] }
  - { call: contracts.create, body: ${contract} }
  - { ${next} }
`,
      );
      assert.deepEqual([exit, stderr], [0, ""], stdout);
    }
  });

  it("starts with another seed, at another time, with adjacent files", async (t) => {
    const exactBytes = Buffer.from(ndaContractJson).toString("base64");
    const story = `
seed: seed.json
start: 2033-05-05T00:00:00Z
files: { note.txt: hello, data.json: ${contract}, exact.json: { base64: ${exactBytes} } }
steps:
  - { svc: emulator clock show --json, expect: { text: "2033-05-05T00:00:00" } }
  - { svc: emulator workspaces --json, expect: { text: Seeded } }
  - { svc: contracts create --data data.json --dry-run, expect: { exit: 0, text: contract_template_id } }
  - { svc: contracts create --data exact.json --dry-run, expect: { exit: 0, text: contract_template_id } }
`;
    const seed = JSON.parse(readFileSync(join(root, "fixtures/seeds/demo.json"), "utf8"));
    seed.workspaces[0].name = "Seeded";
    const { exit, stdout } = await runStory(t, story, [], { "seed.json": JSON.stringify(seed) });
    assert.equal(exit, 0, stdout);
  });
});
