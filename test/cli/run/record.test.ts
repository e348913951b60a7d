import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createSender } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const contract = {
  contract_template_id: 101,
  contract_data: {},
  counter_party_details: [{ is_individual: true, poc_details: { first_name: "Jo", email: "jo@acme.example" } }],
};

/** Sends requests of a program to the contract API and of a user to the control plane. */
function createRequester({ emulator }: CliEmulator, url = emulator.clusters[0]!.url) {
  const { clientId, clientSecret } = emulator.clusters[0]!;
  const sendToApi = createSender(`${url}/api/v2.1/public`, { "client-id": clientId!, "client-secret": clientSecret! });
  const send = async (method: string, path: string, body?: unknown) =>
    (await sendToApi(method, path, { body })).body as { id: string | number };
  return { send, act: (path: string, body: unknown = {}) => emulator.control("POST", path, { body }) };
}

const readStory = ({ cwd }: CliEmulator, name: string): Promise<string> => readFile(join(cwd, name), "utf8");

describe("svc run --record", () => {
  it("reduces 200 requests to a story that fails with the same rejection", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send, act } = createRequester(emulator);
    await send("POST", "webhooks/", {
      title: "x",
      url: (await startReceiver(t)).url,
      only_for_activities: ["CONTRACT_SIGNED"],
    });
    for (let i = 1; i <= 74; i += 1) {
      const { id } = await send("POST", "contracts/", contract);
      await send("GET", `contracts/${id}/status`);
      if (i % 2 === 0) await act(`contracts/${id}/send`);
      if (i % 8 === 0) await act(`contracts/${id}/sign`, { email: "jo@acme.example" });
      if (i % 8 === 0) await emulator.emulator.clock.advance({ by: "PT1H" });
    }
    await send("GET", "contracts/");
    const kim = { is_individual: true, poc_details: { first_name: "Kim", email: "kim@acme.example" } };
    const both = { ...contract, counter_party_details: [...contract.counter_party_details, kim] };
    const { id } = await send("POST", "contracts/", both);
    await send("POST", `contracts/${id}/send_to_counterparties`);
    await act(`contracts/${id}/sign`, { email: "jo@acme.example" });
    const { status } = await act(`contracts/${id}/sign`, { email: "jo@acme.example" });
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml");
    assert.deepEqual([exit, stderr, status], [0, "", 400]);
    assert.equal(stdout, "Wrote story.yaml: 4 of 200 requests kept.\n");
    assert.equal(
      await readStory(emulator, "story.yaml"),
      `# Recorded by svc run --record: 4 of 200 requests kept.

name: Causes of emulator-contracts.sign
steps:
  - call: contracts.create
    body:
      contract_template_id: 101
      contract_data: {}
      counter_party_details:
        - is_individual: true
          poc_details:
            first_name: Jo
            email: jo@acme.example
        - is_individual: true
          poc_details:
            first_name: Kim
            email: kim@acme.example
    save:
      contract: id
  - call: contracts.send
    params:
      composite_id: $contract
  - as: jo@acme.example
    sign: $contract
  - as: jo@acme.example
    sign: $contract
    expect:
      status: 400
      failure: already-signed
`,
    );
    const secondResult = await emulator.svc("run story.yaml");
    assert.deepEqual([secondResult.exit, secondResult.stderr], [0, ""], secondResult.stdout);
    assert.match(secondResult.stdout, /ok +\d {2}as jo@acme\.example sign T-1 {2}400 \(already-signed\)/);
  });

  it("prompts before the replacement of a file", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    await createRequester(emulator).send("POST", "contracts/", contract);
    await writeFile(join(emulator.cwd, "story.yaml"), "steps: [{ advance: PT1H }]\n");
    const result = await emulator.svc("run --record story.yaml");
    assert.deepEqual(
      [result.exit, result.stderr.split("\n")[0], await readStory(emulator, "story.yaml")],
      [2, "error: --yes required when not running interactively", "steps: [{ advance: PT1H }]\n"],
    );
    const replaced = await emulator.svc("run --record story.yaml --yes");
    assert.deepEqual([replaced.exit, replaced.stdout], [0, "Wrote story.yaml: 1 of 1 request kept.\n"]);
  });

  it("escapes dollars in values", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send, act } = createRequester(emulator);
    const jo = { is_individual: true, poc_details: { first_name: `$Jo $\{x} $$`, email: "jo@acme.example" } };
    const { id } = await send("POST", "contracts/", { ...contract, counter_party_details: [jo] });
    await act(`contracts/${id}/sign`, { email: "$jo@acme.example" });
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml");
    assert.deepEqual([exit, stdout, stderr], [0, "Wrote story.yaml: 2 of 2 requests kept.\n", ""]);
    const story = await readStory(emulator, "story.yaml");
    assert.deepEqual(story.match(/(?<=first_name: |as: ).*/g), [`$$Jo $$\{x} $$$$`, "$$jo@acme.example"]);
    const secondResult = await emulator.svc("run story.yaml");
    assert.deepEqual([secondResult.exit, secondResult.stderr], [0, ""], secondResult.stdout);
  });

  it("opens a receiver for a created webhook and repeats the elapsed time", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send } = createRequester(emulator, emulator.emulator.routerUrl);
    const app = await startReceiver(t);
    app.respond(500);
    for (let i = 0; i < 5; i += 1) await send("POST", "contracts/", contract);
    await send("POST", "webhooks/", { title: "x", url: app.url, only_for_activities: ["CONTRACT_CREATED"] });
    await send("POST", "contracts/", contract);
    await emulator.emulator.clock.advance({ by: "PT2H35M" });
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml");
    assert.deepEqual([exit, stdout, stderr], [0, "Wrote story.yaml: 2 of 7 requests kept.\n", ""]);
    assert.equal(
      await readStory(emulator, "story.yaml"),
      `# Recorded by svc run --record: 2 of 7 requests kept.

name: Causes of the delivery of CONTRACT_CREATED
steps:
  - receiver: receiver
    responses: 500
    subscribe: [ CONTRACT_CREATED ]
  - call: contracts.create
    body:
      contract_template_id: 101
      contract_data: {}
      counter_party_details:
        - is_individual: true
          poc_details:
            first_name: Jo
            email: jo@acme.example
  - advance: PT2H35M1S
  - expect:
      deliveries:
        - to: receiver
          activity: CONTRACT_CREATED
          outcome: retrying
          responses: [ 500, 500, 500, 500, 500, 500 ]
`,
    );
    const secondResult = await emulator.svc("run story.yaml");
    assert.deepEqual([secondResult.exit, secondResult.stderr], [0, ""], secondResult.stdout);
  });

  it("records a delivery that was skipped because its webhook was disabled", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send, act } = createRequester(emulator);
    const only_for_activities = ["CONTRACT_CREATED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"];
    await send("POST", "webhooks/", { title: "x", url: "http://localhost:9/hooks", only_for_activities });
    const { id } = await send("POST", "contracts/", contract);
    await send("POST", `contracts/${id}/send_to_counterparties`);
    await emulator.emulator.clock.advance({ by: "PT1M" });
    await act(`contracts/${id}/sign`);
    await emulator.emulator.clock.advance({ by: "PT1H" });
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml --about delivery:1");
    assert.deepEqual([exit, stdout, stderr], [0, "Wrote story.yaml: 4 of 4 requests kept.\n", ""]);
    assert.match(
      await readStory(emulator, "story.yaml"),
      /advance: idle\n {2}- expect:\n.*\n.*\n.*\n {10}outcome: skipped_disabled\n {10}responses: \[ connection_refused, connection_refused \]\n$/,
    );
    const secondResult = await emulator.svc("run story.yaml");
    assert.deepEqual([secondResult.exit, secondResult.stderr], [0, ""], secondResult.stdout);
  });

  it("repeats the responses of a receiver in the order in which it gave them to several deliveries", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send } = createRequester(emulator);
    const app = await startReceiver(t);
    const statuses = [500, 501, 502, 503];
    app.respond((_, response) => void response.writeHead(statuses.shift()!).end());
    await send("POST", "webhooks/", { title: "x", url: app.url, only_for_activities: ["CONTRACT_CREATED"] });
    // The second contract is created after the first attempt for the first one and before its retry.
    for (const pause of ["PT1M", "PT5M"]) {
      await send("POST", "contracts/", contract);
      await emulator.emulator.clock.advance({ by: pause });
    }
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml");
    assert.deepEqual([exit, stdout, stderr], [0, "Wrote story.yaml: 3 of 3 requests kept.\n", ""]);
    const story = await readStory(emulator, "story.yaml");
    assert.deepEqual(story.match(/responses: .*/g), ["responses: [ 500, 501, 502, 503 ]", "responses: [ 501, 503 ]"]);
    const secondResult = await emulator.svc("run story.yaml");
    assert.deepEqual([secondResult.exit, secondResult.stderr], [0, ""], secondResult.stdout);
  });

  it("refers to a created webhook by its receiver", async (t) => {
    const emulator = await startCliEmulator(t, { clock: { mode: "manual" } });
    const { send } = createRequester(emulator);
    const webhook = { title: "x", url: "http://localhost:9/hooks", only_for_activities: ["CONTRACT_CREATED"] };
    await send("POST", "webhooks/", webhook);
    const { id } = await send("POST", "webhooks/", webhook);
    await send("DELETE", `webhooks/${id}`);
    const { exit, stdout, stderr } = await emulator.svc("run --record story.yaml");
    assert.deepEqual([exit, stdout, stderr], [0, "Wrote story.yaml: 2 of 3 requests kept.\n", ""]);
    assert.equal(
      await readStory(emulator, "story.yaml"),
      `# Recorded by svc run --record: 2 of 3 requests kept.

name: Causes of webhooks.delete
steps:
  - receiver: receiver
    responses: 200
    subscribe: [ CONTRACT_CREATED ]
  - call: webhooks.delete
    params:
      webhook_id: $\{receiver.webhook}
    expect:
      status: 204
`,
    );
  });

  it("reports an empty recording and the valid subjects of a story", async (t) => {
    const emulator = await startCliEmulator(t);
    const result = await emulator.svc("run --record story.yaml");
    const otherResult = await emulator.svc("run --record story.yaml --about request:99");
    assert.deepEqual(
      [result.exit, result.stderr, otherResult.exit, otherResult.stderr],
      [
        2,
        "error: The request log of the emulator has no request that a scenario can repeat\n  Use the emulator first: svc emulator requests shows the log.\n",
        2,
        "error: --about: request:99 is not in the request log\n  The value is request:12 (see svc emulator requests) or delivery:3 (see svc emulator deliveries).\n",
      ],
    );
  });
});
