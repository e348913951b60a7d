import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contract, runStory } from "./story.ts";

describe("empty expectation of svc run", () => {
  const story = (expected: string) => `
steps:
  - { receiver: app, subscribe: [CONTRACT_CREATED] }
  - { call: contracts.create, body: ${contract} }
  - { svc: contracts status T-1, expect: ${expected} }
`;

  it("expects nothing, so it fails if there is something", async (t) => {
    const readMessage = async (expected: string) => {
      const { exit, stdout } = await runStory(t, story(expected));
      return [exit, /^ {14}(\S.*) {2}\(story\.yaml:4:/m.exec(stdout)?.[1]];
    };
    const seen = "seen: COUNTER_PARTY_CREATED, COUNTER_PARTY_CONTACT_CREATED, CONTRACT_CREATED";
    assert.deepEqual(await readMessage("{ activities: [] }"), [1, `activities: expected none; ${seen}`]);
    const delivery = "CONTRACT_CREATED T-1 to app delivered after 1 (200)";
    assert.deepEqual(await readMessage("{ deliveries: [] }"), [1, `deliveries: expected none; seen: ${delivery}`]);
    const output = String.raw`"contract_status\tDRAFT\ncontract_name\tMutual NDA - Jo"`;
    assert.deepEqual(await readMessage('{ text: "" }'), [1, `text: expected "", got ${output}`]);
  });

  it("holds if there is nothing", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `steps: [{ svc: webhooks list, expect: { text: "", activities: [], deliveries: [] } }]`,
    );
    assert.equal(exit, 0, stdout);
  });

  it("is replaced by --update", async (t) => {
    const { readFile } = await runStory(t, story('{ text: "", activities: [], deliveries: [] }'), ["--update"]);
    const [, expected] = (await readFile("story.yaml")).split("T-1, expect: ");
    const deliveries = "[{ to: app, activity: CONTRACT_CREATED, outcome: delivered }]";
    const activities = "[COUNTER_PARTY_CREATED, COUNTER_PARTY_CONTACT_CREATED, CONTRACT_CREATED]";
    const output = String.raw`"contract_status\tDRAFT\ncontract_name\tMutual NDA - Jo"`;
    assert.equal(expected, `{ text: ${output}, activities: ${activities}, deliveries: ${deliveries} } }\n`);
  });
});

describe("loop of svc run", () => {
  it("fails over an empty list, whose steps would check nothing", async (t) => {
    const { exit, stdout } = await runStory(
      t,
      `steps:
  - { call: contracts.list, save: { rows: results } }
  - for each: { row: $rows }
    steps: [{ svc: contracts status $row }]
`,
    );
    assert.deepEqual(
      [exit, stdout.split("\n").slice(2, 4)],
      [
        1,
        ["  failed   2  for each row", "              row: expected a list with at least one value  (story.yaml:3:22)"],
      ],
    );
  });
});

describe("failed command line of svc run", () => {
  it("names each missing field", async (t) => {
    for (const format of ["", " --json"]) {
      const { stdout } = await runStory(t, `steps:\n  - svc: contracts create --set contract_data={}${format}\n`);
      assert.match(
        stdout,
        /^ {14}exit 2: Missing required fields: --contract-template-id \(.*\); counter_party_details \(.*\) {2}\(story/m,
      );
    }
  });

  it("shows its whole result if it reports the failure there", async (t) => {
    for (const [format, failed] of [
      ["", "status 500  retrying"],
      [" --json", '"status": 500'],
    ] as const) {
      const { stdout } = await runStory(
        t,
        `steps:
  - { receiver: bad, responses: 500, subscribe: [CONTRACT_SIGNED] }
  - { receiver: good, subscribe: [CONTRACT_SIGNED] }
  - { svc: webhooks trigger CONTRACT_SIGNED${format} }
`,
      );
      const [, reason = ""] = /^ {14}exit 1: (.*)$/m.exec(stdout) ?? [];
      assert.ok(reason.includes(failed), stdout);
    }
  });
});

describe("reference of svc run", () => {
  it("to a field without braces says how to write it", async (t) => {
    const readMessage = async (step: string) => {
      const create = `{ call: contracts.create, body: ${contract}, save: { contract: "", id: id } }`;
      const { stdout } = await runStory(t, `steps:\n  - ${create}\n  - ${step}\n`);
      return stdout.split("\n")[3]!.trim();
    };
    const message = `$contract is a map. To use its field, write $\{contract.id}  (story.yaml:3:5)`;
    assert.equal(await readMessage("call: contracts.status\n    params: { composite_id: $contract.id }"), message);
    assert.equal(await readMessage("svc: contracts status $contract.id"), message);
    assert.match(await readMessage("svc: contracts status $id.pdf"), /^exit 5: Not found: GET \S+\/T-1\.pdf\/status/);
  });
});
