import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliEmulator } from "../../support/cli/cli-emulator.ts";
import { enter, person } from "../../support/cli/person.ts";
import { draft } from "../../support/contracts.ts";
import { receiver } from "../../support/receiver.ts";

const dead = "http://127.0.0.1:9/hook";
const create = (title: string, url: string) =>
  `webhooks create --title ${title} --url ${url} --only-for-activities CONTRACT_CREATED`;

describe("svc webhooks why", () => {
  it("says since when, what came back and what comes next; then, how to enable it again", async (t) => {
    const { svc, emulator } = await cliEmulator(t);
    await svc(create("Mine", dead));
    await draft(emulator.api);
    await emulator.clock.advance({ by: 5 * 60_000 });
    assert.deepEqual(await svc("webhooks why"), {
      exit: 1,
      out: [
        `Webhook 1  Mine  ${dead}  ACTIVE`,
        "",
        "Failing since 2031-01-02T03:04:05.000Z: The receiver refused the connection.",
        "",
        "Attempts:",
        "  2031-01-02T03:04:05.000Z  connection_refused  attempt 1  CONTRACT_CREATED T-1",
        "  2031-01-02T03:09:05.000Z  connection_refused  attempt 2  CONTRACT_CREATED T-1",
        "",
        "Next attempt 2031-01-02T03:19:05.000Z; now: svc emulator clock advance --next",
        "",
      ].join("\n"),
      err: "",
    });
    await emulator.clock.advance({ by: 3 * 3_600_000 });
    const { out } = await svc(`webhooks why ${dead}`);
    assert.match(
      out,
      /DISABLED_BY_ERROR\n\nDisabled after 6 failures in a row; nothing is sent to it\.\nFailing since 2031-01-02T03:04:05/,
    );
    assert.match(out, /To enable it again, once the receiver is repaired: svc emulator webhooks enable 1\n$/);
  });

  it("takes the one that fails, or that of a workspace; asks where several may be meant", async (t) => {
    const { svc, emulator } = await cliEmulator(t);
    const good = await receiver(t);
    await svc(create("Good", good.url));
    await svc(create("Bad", dead));
    await draft(emulator.api);
    await emulator.clock.advance({ by: 1 });
    assert.match((await svc("webhooks why")).out, /^Webhook 2 {2}Bad/);
    const fine = await svc("webhooks why 1");
    assert.deepEqual([fine.exit, /Last delivered 2031-01-02T03:04:05/.test(fine.out)], [0, true]);
    const [first] = (await emulator.ask("GET", "workspaces")).body as { name: string }[];
    assert.match((await svc(["webhooks", "why", first!.name])).out, /^Webhook 2 {2}Bad/);

    await svc(create("Third", `${dead}/3`));
    await draft(emulator.api);
    await emulator.clock.advance({ by: 1 });
    const unasked = await svc("webhooks why");
    assert.deepEqual([unasked.exit, unasked.err.includes("several"), unasked.err.includes("Third")], [2, true, true]);
    const someone = person(["Which webhook?", enter]);
    assert.match((await svc("webhooks why", someone)).out, /Webhook.* 1/);
    assert.deepEqual(someone.waiting(), []);
  });

  it("says what there is where there is no such webhook, and what to do where there is none", async (t) => {
    const { svc } = await cliEmulator(t);
    const none = await svc("webhooks why");
    assert.deepEqual([none.exit, none.err], [5, "error: There are no webhooks.\n  try: svc webhooks listen\n"]);
    await svc(create("Mine", dead));
    const other = await svc("webhooks why 7");
    assert.deepEqual(
      [other.exit, other.err.includes('There is no webhook "7"'), other.err.includes(dead)],
      [5, true, true],
    );
    const quiet = await svc("webhooks why 1");
    assert.deepEqual([quiet.exit, /Nothing was sent yet: it wants CONTRACT_CREATED/.test(quiet.out)], [1, true]);
  });

  it("says of a real service at once that only an emulator knows", async (t) => {
    const { svc } = await cliEmulator(t);
    const env = { SVC_EMULATOR_URL: "", SVC_EMULATOR_TOKEN: "", SVC_BASE_URL: "https://api.example.com" };
    const { exit, out, err } = await svc("webhooks why", { env });
    assert.deepEqual([exit, out], [1, ""]);
    assert.match(err, /^error: Only an emulator knows; this is the service of environment\./);
  });
});
