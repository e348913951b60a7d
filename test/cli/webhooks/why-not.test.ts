import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startReceiver } from "../../support/receiver.ts";

const deadUrl = "http://127.0.0.1:9/hook";
const create = (title: string, url: string) =>
  `webhooks create --title ${title} --url ${url} --only-for-activities CONTRACT_CREATED`;

describe("svc webhooks why for failures that the receiver did not cause", () => {
  it("lists missed activities with their contract and time", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await createDraftContract(emulator.api);
    await svc(create("Late", deadUrl));
    const explain = async () => (await svc("webhooks why 1")).stdout.split("\n")[2];
    assert.equal(
      await explain(),
      "No deliveries yet. Subscribed to CONTRACT_CREATED, but 1 CONTRACT_CREATED happened before it was created, the last at 2031-01-02T03:04:05.000Z.",
    );
  });

  it("shows a compressed response as text", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond((_, response) => response.writeHead(500, { "content-encoding": "gzip" }).end(gzipSync("no coffee")));
    await svc(create("Zipped", app.url));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: "PT1S" });
    const { stdout } = await svc("webhooks why 1");
    assert.match(stdout, /no coffee/);
  });

  it("reports an attempt in progress as due, without suggesting a command", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    let answered = () => {};
    const deliveryReceived = new Promise<void>((resolve) => {
      app.respond((_, response) => {
        answered = () => response.writeHead(200).end();
        resolve();
      });
    });
    await svc(create("Slow", app.url));
    await createDraftContract(emulator.api);
    await deliveryReceived;
    const { stdout } = await svc("webhooks why 1");
    assert.deepEqual(stdout.split("\n").slice(1), [
      "",
      "",
      "An attempt has been due since 2031-01-02T03:04:05.000Z without a result: it is in progress, or waits for other attempts or the disk",
      "",
    ]);
    answered();
  });

  it("mentions the retention period when no delivery is retained", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Old", app.url));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 31 * 86_400_000 });
    const { stdout } = await svc("webhooks why 1");
    assert.equal(
      stdout.split("\n")[2],
      "No deliveries in the last 30 days (the retention period). Subscribed to CONTRACT_CREATED, and none happened in that time.",
    );
  });

  it("names a scripted fault as the cause, as svc doctor does", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Mine", app.url));
    await svc("emulator fault add --direction outgoing --effect drop");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 155 * 60_000 });
    const { stdout } = await svc("webhooks why");
    assert.match(stdout, /^Last attempt: a scripted fault prevented the request \(drop\)\.$/m);
    assert.deepEqual(stdout.split("\n").slice(-4), [
      "Remove scripted fault 1 (drop): svc emulator fault remove 1",
      "Enable the webhook: svc emulator webhooks enable 1",
      "Resend the undelivered delivery: svc emulator webhooks resend 1",
      "",
    ]);
    const { attempts } = await json<{ attempts: { fault: { effect: string } }[] }>("emulator deliveries show 1");
    assert.deepEqual(new Set(attempts.map(({ fault }) => fault.effect)), new Set(["drop"]));
    const found = await json<{ check: string; status: string; detail: string; hint: string }[]>("doctor");
    assert.deepEqual(
      found.filter(({ check }) => ["faults", "webhooks"].includes(check)),
      [
        {
          check: "faults",
          status: "warning",
          detail: "Active scripted faults: 1 (outgoing, drop)",
          hint: "To remove one: svc emulator fault remove 1",
        },
        {
          check: "webhooks",
          status: "warning",
          detail: "Webhooks that receive nothing: 1 (DISABLED_BY_ERROR)",
          hint: "To see why: svc webhooks why",
        },
      ],
    );
    await svc("emulator fault remove 1");
    const resent = await svc("emulator webhooks resend 1");
    assert.deepEqual([resent.exit, resent.stderr], [0, "All 1 arrived.\n"]);
  });

  it("counts only the deliveries of the webhook that a scripted fault affected", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const { url } = await startReceiver(t);
    await svc(create("First", url));
    await svc(create("Second", url));
    await svc("emulator fault add --direction outgoing --effect duplicate");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const explain = async () => (await json<{ why: string[] }>("webhooks why 1")).why;
    assert.deepEqual(await explain(), ["Scripted fault 1 affects its deliveries: duplicate, once so far."]);
    await svc("emulator fault remove 1");
    await svc("emulator fault add --direction outgoing --effect drop");
    await svc("emulator deliveries resend 2");
    await emulator.clock.advance({ by: 1 });
    assert.deepEqual(await explain(), ["Scripted fault 2 (drop) has not affected its deliveries yet."]);
  });

  it("counts failures since the webhook was last enabled", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 155 * 60_000 });
    await svc("emulator webhooks enable 1");
    await emulator.clock.advance({ by: 160 * 60_000 });
    const { stdout } = await svc("webhooks why 1");
    assert.match(
      stdout,
      /^1 attempt failed since it was enabled again\. The sixth consecutive failure disables the webhook\.$/m,
    );
  });

  it("reports when and why a delivery is delayed", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await svc("emulator fault add --direction outgoing --effect delay --delay PT3M");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const [firstPlanned] = await json<{ reason: string }[]>("webhooks schedule");
    assert.match(firstPlanned!.reason, /^first attempt, postponed by a scripted fault: delay \(request:\d+\)$/);
  });

  it("prints the selected fields and rejects unknown ones", async (t) => {
    const { svc } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    const chosen = await svc("webhooks why --json=state,failing");
    assert.deepEqual([chosen.exit, JSON.parse(chosen.stdout)], [1, { state: "active", failing: true }]);
    assert.equal(
      (await svc("webhooks why --format csv")).stdout,
      "webhook.id,webhook.title,webhook.workspace_id,state,failing,since,short\r\n1,Mine,1,active,true,,no deliveries yet\r\n",
    );
    assert.equal((await svc("webhooks why --format table --fields state,short")).stdout.split("\n").length, 3);
    for (const line of ["webhooks why --json=sate", "webhooks why --fields sate", "webhooks list --json=id,statsu"]) {
      const { exit, stdout, stderr } = await svc(line);
      assert.deepEqual([exit, stdout], [2, ""], line);
      assert.match(stderr, /Unknown field \\?"(sate|statsu)/);
    }
  });

  it("reports the outcome of deliveries to a deleted webhook", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    await svc("webhooks delete 1 --yes");
    const { exit, stdout } = await svc("webhooks why 1");
    assert.equal(exit, 1);
    assert.match(stdout, /^Webhook 1 {2}workspace 1 {2}DELETED\n/);
    assert.match(stdout, /^The webhook was deleted\. Of 1 retained delivery, 0 arrived; 1 did not/m);
    assert.deepEqual(await json("webhooks deliveries --fields status_text,outcome,webhook_status"), [
      { status_text: "will be skipped", outcome: "retrying", webhook_status: "DELETED" },
    ]);
  });

  it("prints a summary table first, then details of the worst webhook", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    for (let i = 1; i <= 12; i += 1) await svc(create(`Hook-${i}`, `${deadUrl}/${i}`));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    // The webhook received no request, and no attempt failed.
    await svc(create("Late", deadUrl));
    const counted = async () => ((await emulator.control("GET", "requests")).body as { total: number }).total;
    const before = await counted();
    const { stdout } = await svc("webhooks why");
    assert.equal((await counted()) - before <= 9, true);
    assert.equal(stdout.split("\n").filter((line) => /^\d+ Hook-\d+ /.test(line)).length, 7);
    assert.equal(stdout.match(/^Webhook \d+/gm)?.length, 1);
    assert.match(stdout, /^6 more, 11 more failing webhooks: svc webhooks why ID, or --all$/m);
    assert.ok(stdout.split("\n").length <= 26, stdout);
    const output = (await svc("webhooks why --all")).stdout;
    assert.equal(output.match(/^Webhook \d+/gm)?.length, 12);
  });

  it("wraps commands in a narrow window so that they stay valid", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    await svc(create("Mine", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    for (const columns of [80, 40]) {
      const { stdout } = await svc("webhooks why", { tty: true, columns, env: { NO_COLOR: "1" } });
      assert.match(stdout.replaceAll(/ \\\n +/g, " "), /To make it now: *\s*svc emulator clock advance --to \S+Z\n/);
    }
  });
});
