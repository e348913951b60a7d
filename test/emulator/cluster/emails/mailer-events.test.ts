import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emails, findEmail, sendEmail } from "../../../../emulator/domain/emails.ts";
import { openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createDraftContract, createSentContract } from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";

const path = "/api/v1/emails/mailer/webhook";

interface Email {
  readonly id: number;
  readonly recipient: string;
  readonly link: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly events: readonly { readonly type: string; readonly detail: string | null }[];
}

async function listEmails({ control }: TestEmulator): Promise<readonly Email[]> {
  return ((await control("GET", "emails")).body as { items: Email[] }).items;
}

async function listFindings({ control }: TestEmulator): Promise<string[]> {
  const { body } = await control("GET", "requests");
  const { items } = body as { items: { listener: string; findings: { code: string }[] }[] };
  return items
    .filter(({ listener }) => listener !== "router")
    .flatMap(({ findings }) => findings.map(({ code }) => code));
}

const emailActivities = [
  "MAILER_EMAIL_EVENT",
  "SIGNING_EMAIL_DELIVERED",
  "SIGNING_EMAIL_NOT_DELIVERED",
  "SIGNING_EMAIL_OPENED",
] as const;

describe("event of the e-mail provider", () => {
  it("stores the event with the e-mail's metadata and emits an activity", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const next = await subscribe(t, emulator, emailActivities);
    const [{ metadata: Metadata }] = (await listEmails(emulator)) as [Email];
    const response = await emulator.router("POST", path, {
      body: { RecordType: "Open", Metadata, Recipient: "jo@acme.example" },
    });
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: {} });
    const events = (await next()).map(
      ({ activity, activity_data: { performed_by, timestamp: _, ...data }, contract_id }) => ({
        activity,
        performed_by,
        contract_id,
        ...data,
      }),
    );
    const common = { performed_by: { name: "SYSTEM" }, contract_id: 1 };
    const email_event_data = {
      recipient_email: "jo@acme.example",
      email_mode: "to",
      occured_at: "2031-01-02T03:04:05.000000Z",
    };
    assert.deepEqual(events, [
      {
        activity: "MAILER_EMAIL_EVENT",
        ...common,
        email_event_data,
        mailer_event: { type: "Open", purpose: "signing" },
      },
      { activity: "SIGNING_EMAIL_OPENED", ...common, email_event_data },
    ]);
    assert.deepEqual((await listEmails(emulator))[0]?.events, [
      { type: "Open", at: "2031-01-02T03:04:05.000Z", detail: null },
    ]);
  });

  it("matches the newest e-mail by recipient, contract and purpose without an ID", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await createSentContract(emulator.api);
    const postEvent = (Metadata: object, overrides: object) =>
      emulator.router("POST", path, {
        body: { RecordType: "Click", Metadata: { cluster_id: "eu-1", ...Metadata }, ...overrides },
      });
    const clicked = async () =>
      (await listEmails(emulator)).map(({ id, events }) => [id, ...events.map(({ detail }) => detail)]);
    await postEvent({}, { Recipient: "JO@acme.example", OriginalLink: "https://x.example/1" });
    await postEvent({ contract_id: "T-1", recipient: "jo@acme.example", purpose: "signing" }, { OriginalLink: "2" });
    assert.deepEqual(await clicked(), [
      [2, "https://x.example/1"],
      [1, "2"],
    ]);
    // No e-mail matches any of these.
    await postEvent({ contract_id: "T-1", purpose: "redlining" }, { Recipient: "jo@acme.example" });
    await postEvent({ email_id: "1", contract_id: "T-2" }, {});
    await postEvent({ email_id: "01" }, {});
    await postEvent({}, {});
    assert.equal((await clicked()).flat().length, 4);
    assert.deepEqual(await listFindings(emulator), Array(4).fill("unknown-email"));
  });

  it("accepts an unknown or invalid event with a finding, without changes", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await waitUntilIdle(emulator);
    const before = (await emulator.control("GET", "state")).body;
    const Metadata = { cluster_id: "eu-1", email_id: "1" };
    for (const event of [{ RecordType: "SubscriptionChange" }, {}, { RecordType: 1 }, { RecordType: "__proto__" }]) {
      assert.deepEqual(pickStatusAndBody(await emulator.router("POST", path, { body: { ...event, Metadata } })), {
        status: 200,
        body: {},
      });
    }
    assert.deepEqual((await emulator.control("GET", "state")).body, before);
    const codes = [
      "unknown-mailer-event",
      "unreadable-mailer-event",
      "unreadable-mailer-event",
      "unknown-mailer-event",
    ];
    assert.deepEqual(await listFindings(emulator), codes);
  });

  it("emits a bounce instead of the delivery, and a repeated bounce twice", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const next = await subscribe(t, emulator, emailActivities);
    const [{ metadata: Metadata }] = (await listEmails(emulator)) as [Email];
    for (let time = 0; time < 2; time += 1) {
      await emulator.router("POST", path, { body: { RecordType: "Bounce", Metadata, Description: "No such mailbox" } });
    }
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(listActivityNames(await next()), [
      "MAILER_EMAIL_EVENT",
      "SIGNING_EMAIL_NOT_DELIVERED",
      "MAILER_EMAIL_EVENT",
      "SIGNING_EMAIL_NOT_DELIVERED",
    ]);
    const bounced = { type: "Bounce", at: "2031-01-02T03:04:05.000Z", detail: "No such mailbox" };
    assert.deepEqual((await listEmails(emulator))[0]?.events, [bounced, bounced]);
  });

  it("stores the event of a deleted contract silently, and retains the last hundred", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const [{ metadata: Metadata }] = (await listEmails(emulator)) as [Email];
    await emulator.control("POST", "contracts/T-1/delete", { body: {} });
    const next = await subscribe(t, emulator, emailActivities);
    for (let time = 0; time < 103; time += 1) {
      await emulator.router("POST", path, { body: { RecordType: "Click", Metadata, OriginalLink: String(time) } });
    }
    assert.deepEqual(await next(), []);
    const details = (await listEmails(emulator))[0]!.events.map(({ detail }) => detail);
    assert.deepEqual([details.length, details[0], details.at(-1)], [100, "3", "102"]);
  });
});

it("opened link of a signatory or contact counts as clicked", async (t) => {
  const emulator = await startTestEmulator(t);
  await createSentContract(emulator.api);
  await createDraftContract(emulator.api, { contract_template_id: 104 });
  await emulator.api("POST", "/api/v2.1/public/contracts/T-2/send_to_counterparties", { body: {} });
  const next = await subscribe(t, emulator, ["SIGNING_EMAIL_LINK_CLICKED", "REDLINING_EMAIL_LINK_CLICKED"]);
  const [redlining, signing] = await listEmails(emulator);
  const { origin } = new URL(signing!.link);
  for (const link of [
    redlining!.link,
    `${origin}/contracts/T-1`,
    `${origin}/contracts/T-1?signatory=9`,
    signing!.link,
    // Reloading the page does not count as a second click.
    signing!.link,
  ]) {
    assert.equal((await fetch(link)).status, 200);
  }
  assert.deepEqual(
    (await listEmails(emulator)).map(({ events }) => events.map(({ type, detail }) => [type, detail])),
    [redlining, signing].map((email) => [["Click", email!.link.replace(origin, "")]]),
  );
  assert.deepEqual(listActivityNames(await next()), ["REDLINING_EMAIL_LINK_CLICKED", "SIGNING_EMAIL_LINK_CLICKED"]);
});

it("lookup of the e-mail behind a link reads no other e-mail", async (t) => {
  const store = openMemoryStore({ collections: [emails], wall: systemWallClock });
  const common = { purpose: "signing", sent_at: 0, cluster_id: "eu-1" } as const;
  await store.transaction("send e-mails", (tx) => {
    for (let contractId = 1; contractId <= 100; contractId += 1) {
      sendEmail(tx, { ...common, recipient: "jo@acme.example", contract_id: contractId });
      sendEmail(tx, { ...common, recipient: `jo${contractId}@acme.example`, contract_id: 7 });
    }
  });
  const { mock } = t.mock.method(store, "list");
  const email = findEmail(store, { contract_id: "T-7", recipient: "JO@acme.example" });
  const readCount = mock.calls.flatMap(({ result }) => result).length;
  assert.deepEqual([email?.recipient, email?.contract_id, readCount], ["jo@acme.example", 7, 1]);
  await store.close();
});

it("sends each reminder as a separate e-mail, and no e-mail for a draft", async (t) => {
  const emulator = await startTestEmulator(t);
  await createDraftContract(emulator.api);
  assert.deepEqual(await listEmails(emulator), []);
  await emulator.api("POST", "/api/v2.1/public/contracts/T-1/send_to_counterparties", { body: {} });
  await emulator.api("POST", "/api/v2.1/public/contracts/T-1/signatories/resend_email/", {
    body: { email_id: "jo@acme.example" },
  });
  assert.deepEqual(
    (await listEmails(emulator)).map(({ recipient }) => recipient),
    ["jo@acme.example", "jo@acme.example"],
  );
});
