import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startReceiver } from "../../support/receiver.ts";

const deadUrl = "http://127.0.0.1:9/hook";
const create = (title: string, url: string) =>
  `webhooks create --title ${title} --url ${url} --only-for-activities CONTRACT_CREATED`;

describe("webhooks that svc webhooks why selects", () => {
  it("lists all failing webhooks, or those of a workspace, worst first", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const good = await startReceiver(t);
    await svc(create("Good", good.url));
    await svc(create("Bad", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const result = await svc("webhooks why");
    assert.match(result.stdout, /^2 Bad .*failing +2031-01-02 03:04 +connection refused$/m);
    assert.match(result.stdout, /^1 Good .*active +the last one arrived$/m);
    assert.match(result.stdout, /\n\nWebhook 2 {2}Bad/);
    const fine = await svc("webhooks why 1");
    assert.deepEqual([fine.exit, /Last delivered 2031-01-02T03:04:05/.test(fine.stdout)], [0, true]);
    const [first] = (await emulator.control("GET", "workspaces")).body as { name: string }[];
    assert.equal((await svc(["webhooks", "why", first!.name])).stdout, result.stdout);

    await svc(create("Third", `${deadUrl}/3`));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const headings = (stdout: string) => [...stdout.matchAll(/^Webhook \d+ {2}\w+/gm)].map(([heading]) => heading);
    const failing = await svc("webhooks why");
    assert.deepEqual([failing.exit, headings(failing.stdout)], [1, ["Webhook 2  Bad"]]);
    assert.match(failing.stdout, /^1 more failing webhook: svc webhooks why ID, or --all$/m);
    assert.deepEqual(headings((await svc("webhooks why --all")).stdout), ["Webhook 2  Bad", "Webhook 3  Third"]);
    await svc("emulator webhooks disable 3");
    const ofWorkspace = await svc(["webhooks", "why", first!.name, "--all"]);
    assert.deepEqual([ofWorkspace.exit, headings(ofWorkspace.stdout)], [1, ["Webhook 3  Third", "Webhook 2  Bad"]]);
    const lines = (await svc(["webhooks", "why", first!.name, "--json"])).stdout.trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).webhook.id),
      [3, 2, 1],
    );
  });

  it("counts all deliveries of a failing webhook that is one of many", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const good = await startReceiver(t);
    await svc(create("Bad", deadUrl));
    const body = { title: "Good", url: good.url, only_for_activities: ["CONTRACT_CREATED"] };
    for (let i = 0; i < 250; i += 1) await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    for (let i = 0; i < 42; i += 1) await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const { stdout } = await svc("webhooks why");
    assert.match(stdout, /^1 Bad .*connection refused; 42 did not arrive$/m);
    assert.match(stdout, /^42 deliveries are undelivered\. /m);
  });

  it("says that it omits the older ones of more than 10,000 deliveries", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Bad", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const state = (await emulator.control("GET", "state")).body as {
      rows: { webhook_deliveries: { id: number }[] };
      sequences: { delivery: number };
    };
    const [delivery] = state.rows.webhook_deliveries;
    for (let id = 2; id <= 10_001; id += 1) state.rows.webhook_deliveries.push({ ...delivery, id });
    state.sequences.delivery = 10_001;
    await emulator.control("PUT", "state", { body: state });
    const { stderr } = await svc("webhooks why");
    assert.equal(stderr, "Only the newest 10000 deliveries were read. Counts and lists omit older ones.\n");
  });

  it("lists existing webhooks for an unknown ID, or suggests creating one", async (t) => {
    const { svc } = await startCliEmulator(t);
    const result = await svc("webhooks why");
    assert.deepEqual([result.exit, result.stderr], [5, "error: No webhooks found.\n  try: svc webhooks listen\n"]);
    await svc(create("Mine", deadUrl));
    const otherResult = await svc("webhooks why 7");
    assert.deepEqual(
      [otherResult.exit, otherResult.stderr],
      [5, 'error: No webhook matches "7".\n  try: svc webhooks list\n'],
    );
    const padded = await svc("webhooks why 01");
    assert.deepEqual([padded.exit, padded.stderr.split("\n")[0]], [5, 'error: No webhook matches "01".']);
    const suggestion = await svc("webhooks why Mien");
    assert.deepEqual(
      [suggestion.exit, suggestion.stderr],
      [5, 'error: No webhook matches "Mien".\n  Did you mean Mine?\n  try: svc webhooks list\n'],
    );
    const quiet = await svc("webhooks why 1");
    assert.deepEqual([quiet.exit, /No deliveries yet\. Subscribed to CONTRACT_CREATED/.test(quiet.stdout)], [1, true]);
  });

  it("diagnoses the last deleted webhook if no other is left", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Gone", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("webhooks delete 1 --yes");
    const result = await svc("webhooks why");
    assert.deepEqual([result.exit, result.stdout], [1, (await svc("webhooks why 1")).stdout]);
    assert.match(result.stdout, /^The webhook was deleted\. /m);
  });

  it("does not suggest advancing the clock to the token of a workspace", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Bad", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const { token } = await json<{ token: string }>("emulator tokens create team --role operate --workspace 1");
    const { stdout } = await svc("webhooks why", { env: { SVC_EMULATOR_TOKEN: token } });
    assert.match(stdout, /^Next attempt 2031-01-02T03:09:05\.000Z, retry 1, 5 min after connection_refused$/m);
  });

  it("does not say that a delivery arrived if all were skipped before the webhook was enabled", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await svc("emulator webhooks disable 1");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("emulator webhooks enable 1");
    const { exit, stdout } = await svc("webhooks why 1");
    assert.equal(exit, 1);
    assert.match(stdout, /^No retained delivery has arrived\.\n1 delivery is undelivered and will not be retried\.$/m);
  });

  it("prefers a deleted webhook to the workspace with the same ID", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Gone", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("webhooks delete 1 --yes");
    await svc(create("Other", `${deadUrl}/2`));
    const result = await svc("webhooks why 1");
    assert.match(result.stdout, /^Webhook 1 {2}workspace 1 {2}DELETED$/m);
    const named = await svc(["webhooks", "why", "Northwind Legal"]);
    assert.match(named.stdout, /^Webhook 2 {2}Other/);
  });

  it("finds a deleted webhook by its URL, unless several had it or another one has it", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Gone", deadUrl));
    await svc(create("Other", `${deadUrl}/2`));
    await svc(create("Unused", `${deadUrl}/3`));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("webhooks delete 1 --yes");
    const result = await svc(`webhooks why ${deadUrl}`);
    assert.equal(result.exit, 1);
    assert.match(result.stdout, /^Webhook 1 {2}workspace 1 {2}DELETED$/m);
    assert.match(result.stdout, /^The webhook was deleted\. /m);

    await svc(create("Again", deadUrl));
    assert.match((await svc(`webhooks why ${deadUrl}`)).stdout, /^Webhook 4 {2}Again/);
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("webhooks delete 4 --yes");
    const several = await svc(`webhooks why ${deadUrl}`);
    const problem = `error: No webhook matches "${deadUrl}".\n  Deleted webhooks with this URL: 1, 4.\n`;
    assert.deepEqual([several.exit, several.stderr], [5, `${problem}  try: svc webhooks why 4\n`]);
  });

  it("accepts a webhook title in any case", async (t) => {
    const { svc } = await startCliEmulator(t);
    await svc(create("Node", deadUrl));
    await svc(create("Other", `${deadUrl}/2`));
    const { stdout } = await svc("webhooks why other");
    assert.match(stdout, /^Webhook 2 {2}Other/);
  });
});
