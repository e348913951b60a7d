import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contract, runStory } from "./story.ts";

describe("svc run --update", () => {
  it("writes observations into the expectations and preserves comments", async (t) => {
    const story = `# About signing.
steps:
  - call: contracts.create # first
    body: ${contract}
    expect: { status: 200, json: { contract_status: null, id: T-7 } } # as it is
  # Sent to Jo.
  - call: contracts.send
    params: { composite_id: T-1 }
    expect:
  - expect:
      # In this order.
      activities: [CONTRACT_SIGNED]
  - svc: contracts status T-9
    expect: { exit: 0 }
`;
    const { exit, stderr, readFile } = await runStory(t, story, ["--update"]);
    assert.deepEqual([exit, stderr], [0, "Wrote 6 expectations into story.yaml\n"]);
    const storyText = await readFile("story.yaml");
    assert.equal(
      storyText,
      `# About signing.
steps:
  - call: contracts.create # first
    body: ${contract}
    expect: { status: 201, json: { contract_status: DRAFT, id: T-1 } } # as it is
  # Sent to Jo.
  - call: contracts.send
    params: { composite_id: T-1 }
    expect: { status: 200 }
  - expect:
      # In this order.
      activities: [COUNTER_PARTY_CREATED, COUNTER_PARTY_CONTACT_CREATED, CONTRACT_CREATED, CONTRACT_SIGNATURE_REQUESTED, CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT, CONTRACT_PROCESS_METRIC_UPDATED]
  - svc: contracts status T-9
    expect: { exit: 5 }
`,
    );
    const again = await runStory(t, storyText);
    assert.deepEqual([again.exit, again.stderr], [0, ""], again.stdout);
  });

  it("writes the stable fields of each row of a list", async (t) => {
    const { readFile } = await runStory(
      t,
      "steps:\n  - svc: emulator workspaces --fields id,name --json\n    expect: { json: }\n",
      ["--update"],
    );
    const [, , expectation] = (await readFile("story.yaml")).split("\n");
    const rows =
      "{ id: 1, name: Northwind Legal }, { id: 2, name: Contoso Procurement }, { id: 3, name: Fabrikam Sales }";
    assert.equal(expectation, `    expect: { json: [${rows}] }`);
  });

  it("writes a text of several lines on one, separated from what follows", async (t) => {
    const story = `steps:
  - { svc: contracts list --json, expect: { text: } }
  - svc: emulator workspaces --fields name --format csv
    expect:
      text:   # the names
`;
    const storyText = await (await runStory(t, story, ["--update"])).readFile("story.yaml");
    const text = JSON.stringify('{\n  "page": 1,\n  "limit": 10,\n  "total_results": 0,\n  "results": []\n}');
    const names = JSON.stringify("name\r\nNorthwind Legal\r\nContoso Procurement\r\nFabrikam Sales");
    assert.equal(storyText, story.replace("text: }", `text: ${text} }`).replace("  # the", `  ${names} # the`));
    const again = await runStory(t, storyText);
    assert.deepEqual([again.exit, again.stderr], [0, ""], again.stdout);
  });

  it("preserves a reference that equals the observed value", async (t) => {
    const steps = (deliveries: string) => `steps:
  - receiver: app
    subscribe: [CONTRACT_CREATED]
  - call: contracts.create
    body: ${contract}
    save: { made: id }
  - expect:
      deliveries: ${deliveries}
`;
    const { exit, stdout, readFile } = await runStory(t, steps("[{ to: app, contract: $made, attempts: 7 }]"), [
      "--update",
    ]);
    assert.deepEqual(
      [exit, await readFile("story.yaml")],
      [0, steps("[{ to: app, contract: $made, attempts: 1 }]")],
      stdout,
    );
    const list = (attempts: number) => `
        # The receiver is up.
        - to:   app   # mine
          attempts: ${attempts}   # never again`;
    const second = await runStory(t, steps(list(7)), ["--update"]);
    assert.deepEqual([second.exit, await second.readFile("story.yaml")], [0, steps(list(1))], second.stdout);
  });

  it("reports an expectation behind an alias or a merge key, which it cannot write", async (t) => {
    const story = (first: number) => `
steps:
  - { call: contracts.list, expect: &list { status: ${first} } }
  - { call: contracts.list, expect: *list }
  - call: contracts.list
    expect: { <<: *list, json: {} }
`;
    const { exit, stderr, readFile } = await runStory(t, story(500), ["--update"]);
    assert.deepEqual(
      [exit, stderr.split("\n"), `\n${await readFile("story.yaml")}`],
      [
        1,
        [
          "Wrote 1 expectation into story.yaml",
          "warning: story.yaml:3:37: status is behind an alias or a merge key and cannot be written.",
          "warning: story.yaml:5:13: status is behind an alias or a merge key and cannot be written.",
          "",
        ],
        story(200),
      ],
    );
  });

  it("says that it does not write into a loop, whose steps have several results", async (t) => {
    const story = "steps: [{ for each: { x: [1, 2] }, steps: [{ svc: contracts list, expect: { exit: 1 } }] }]\n";
    const { exit, stdout, readFile } = await runStory(t, story, ["--update"]);
    const message = "exit: expected 1, got 0 (--update does not write into a loop)  (story.yaml:1:83)";
    assert.deepEqual([exit, stdout.split("\n")[2]?.trim(), await readFile("story.yaml")], [1, message, story]);
  });

  it("does not write a value for a field that does not exist", async (t) => {
    const story = "steps:\n  - { svc: emulator clock show --json, expect: { json: { speeed: 5 } } }\n";
    const { exit, stdout, readFile } = await runStory(t, story, ["--update"]);
    const message = "json.speeed: expected 5, got nothing (--update does not write a missing value)  (story.yaml:2:66)";
    assert.deepEqual([exit, stdout.split("\n")[2]?.trim(), await readFile("story.yaml")], [1, message, story]);
  });

  it("adds no blank at the end of a file", async (t) => {
    const story = "steps:\n  - svc: contracts list\n    expect:";
    const { readFile } = await runStory(t, story, ["--update"]);
    assert.equal(await readFile("story.yaml"), `${story} { exit: 0 }`);
  });

  it("leaves a matching file unchanged", async (t) => {
    const story = "steps:   [ {advance: PT1H} ]\n";
    const { exit, stderr, readFile } = await runStory(t, story, ["--update"]);
    assert.deepEqual([exit, stderr, await readFile("story.yaml")], [0, "", story]);
  });
});
