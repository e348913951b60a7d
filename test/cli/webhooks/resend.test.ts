import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startReceiver } from "../../support/receiver.ts";

const deadUrl = "http://127.0.0.1:9/hook";
const create = (title: string, url: string) =>
  `webhooks create --title ${title} --url ${url} --only-for-activities CONTRACT_CREATED`;

describe("delivery list in an 80-column window", () => {
  for (const command of ["emulator deliveries", "webhooks deliveries"]) {
    it(`announces skipped attempts of a disabled webhook in svc ${command}`, async (t) => {
      const { svc, emulator } = await startCliEmulator(t);
      await svc(create("Mine", deadUrl));
      await createDraftContract(emulator.api);
      await emulator.clock.advance({ by: 155 * 60_000 });
      const { stdout } = await svc(command, { tty: true, columns: 80, env: { NO_COLOR: "1" } });
      assert.match(stdout, /\n +1 .*T-1 .*will be skipped/);
    });
  }
});

describe("svc emulator deliveries resend", () => {
  it("exits 1 unless the receiver responds with 2xx", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Mine", app.url));
    app.respond(503);
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const failed = await svc("emulator deliveries resend 1 --json");
    assert.deepEqual([failed.exit, JSON.parse(failed.stdout).attempts[1].status], [1, 503]);
    app.respond(204);
    const resent = await svc("emulator deliveries resend 1 --json");
    assert.deepEqual([resent.exit, JSON.parse(resent.stdout).outcome], [0, "delivered"]);
    app.respond(500);
    assert.equal((await svc("emulator deliveries resend 1")).exit, 1);
  });

  it("sends several deliveries in the given order", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    await svc(create("Mine", app.url));
    await svc("emulator webhooks disable 1");
    for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const sent = await json<{ id: number; outcome: string }[]>("emulator deliveries resend 2 1");
    assert.deepEqual(
      sent.map(({ id, outcome }) => [id, outcome]),
      [
        [2, "delivered"],
        [1, "delivered"],
      ],
    );
    assert.deepEqual(
      app.received.map(({ body }) => JSON.parse(body.toString()).contract_id),
      [2, 1],
    );
    app.respond(500);
    const failed = await svc("emulator deliveries resend 3 1 --fields id,status_text");
    assert.deepEqual([failed.exit, failed.stdout], [1, "3\tskipped: webhook disabled\n1\tdelivered\n"]);
    const result = await svc("emulator deliveries resend 1 99 --fields id");
    assert.deepEqual([result.exit, result.stdout], [5, "1\n"]);
  });
});

describe("svc emulator webhooks resend", () => {
  it("resends deliveries that wait for a retry, as svc webhooks why suggests", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond(503);
    await svc(create("Mine", app.url));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 155 * 60_000 });
    app.respond(204);
    const { steps } = JSON.parse((await svc("webhooks why 1 --json")).stdout) as {
      steps: { command: string | null }[];
    };
    const [enable, resend] = steps.flatMap(({ command }) => command ?? []);
    assert.deepEqual([enable, resend], ["svc emulator webhooks enable 1", "svc emulator webhooks resend 1"]);
    await svc("emulator webhooks enable 1");
    const { exit, stderr } = await svc("emulator webhooks resend 1");
    assert.deepEqual([exit, stderr, app.received.length], [0, "All 1 arrived.\n", 7]);
    const [delivery] = await json<object[]>("emulator deliveries --fields outcome,next_attempt_at");
    assert.deepEqual(delivery, { outcome: "delivered", next_attempt_at: null });
  });

  it("skips deliveries before their first attempt and counts repeated failures", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond(503);
    await svc(create("Mine", app.url));
    await svc("emulator fault add --direction outgoing --effect delay --delay PT3M --count 1");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const untried = await svc("emulator webhooks resend 1");
    assert.deepEqual([untried.exit, untried.stderr], [0, "No undelivered deliveries.\n"]);
    assert.equal(app.received.length, 0);
    await emulator.clock.advance({ by: 3 * 60_000 });
    const failed = await svc("emulator webhooks resend 1");
    assert.deepEqual(failed, {
      exit: 1,
      stdout: "1\tCONTRACT_CREATED\tT-1\tstatus 503\tretrying\n",
      stderr: "0 delivered, 1 undelivered: delivery 1 failed again: responded 503\n",
    });
    assert.equal(app.received.length, 2);
  });

  it("reports the cause of a failed resend", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    app.respond((_, response) => void response.writeHead(500).end("the table is locked"));
    await svc(create("Mine", app.url));
    await svc(create("Dead", deadUrl));
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1 });
    assert.equal(
      (await svc("emulator webhooks resend 1")).stderr,
      "0 delivered, 1 undelivered: delivery 1 failed again: responded 500: the table is locked\n",
    );
    assert.deepEqual(
      [await svc("emulator webhooks resend 2"), await svc("emulator deliveries resend 2")].map(({ stderr }) => stderr),
      [
        "0 delivered, 1 undelivered: delivery 2 failed again: connection refused\n",
        "Delivery 2 failed again: connection refused\n",
      ],
    );
  });
});

describe("an attempt that is in progress when its webhook is disabled or deleted", () => {
  it("is neither resent nor reported as undelivered", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const app = await startReceiver(t);
    const respondLater: (() => void)[] = [];
    const attemptReceived = new Promise<void>((resolve) => {
      app.respond((_, response) => {
        respondLater.push(() => response.writeHead(200).end());
        resolve();
      });
    });
    await svc(create("Slow", app.url));
    await createDraftContract(emulator.api);
    await attemptReceived;
    await svc("emulator webhooks disable 1");
    assert.deepEqual(await json("emulator webhooks resend 1"), { items: [], remaining: 0 });
    const disabled = JSON.parse((await svc("webhooks why 1 --json")).stdout);
    assert.deepEqual([disabled.unsent_deliveries, disabled.next_attempt_is_due], [[], true]);
    await svc("webhooks delete 1 --yes");
    const { stdout } = await svc("webhooks why 1");
    assert.match(stdout, /^The webhook was deleted\. Of 1 retained delivery, 0 arrived\.$/m);
    assert.match(stdout, /^An attempt has been due since .* it is in progress, /m);
    respondLater[0]!();
    await emulator.clock.advance({ by: 1 });
    assert.match(
      (await svc("webhooks why 1")).stdout,
      /^The webhook was deleted\. Of 1 retained delivery, 1 arrived\.$/m,
    );
    assert.equal(app.received.length, 1);
  });
});
