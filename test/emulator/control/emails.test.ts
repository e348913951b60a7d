import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { getSigningLink } from "../../support/identity/recipient-page.ts";

const at = "2031-01-02T03:04:05.000Z";
const trialPath = "/router/v1/trial/signup";
const form = { first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "Software", use_case: "Sales" };

async function startTrial({ router }: TestEmulator, overrides: object = {}): Promise<string> {
  const { body } = await router("POST", trialPath, { body: { email: "zoe@newco.example", captcha: "yes" } });
  const { token } = body as { token: string };
  const invited_users = [{ email: "bob@newco.example", first_name: "Bob" }];
  const response = await router("POST", `${trialPath}/complete`, {
    body: { ...form, token, invited_users, ...overrides },
  });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return token;
}

describe("platform e-mail", () => {
  it("emails.list returns signing e-mails with their links and event metadata", async (t) => {
    const emulator = await startTestEmulator(t);
    const link = await getSigningLink(emulator, await createSentContract(emulator.api), "jo@acme.example");
    const workspaces = (await emulator.control("GET", "workspaces")).body as { counterparty_tokens: string[] }[];
    const [, token] = workspaces[0]!.counterparty_tokens;
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "emails")), {
      status: 200,
      body: {
        items: [
          {
            id: 1,
            cluster_id: "eu-1",
            workspace_id: 1,
            contract_id: 1,
            purpose: "signing",
            recipient: "jo@acme.example",
            mode: "to",
            subject: "Signature requested: NDA with Acme",
            text: "Northwind Legal asks you to sign “NDA with Acme”. Open the link to read and sign it.",
            link,
            token,
            sent_at: at,
            metadata: {
              cluster_id: "eu-1",
              email_id: "1",
              contract_id: "1",
              recipient: "jo@acme.example",
              purpose: "signing",
            },
            events: [],
          },
        ],
        total: 1,
      },
    });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
    const { items } = (await emulator.control("GET", "emails")).body as { items: [{ events: unknown }] };
    assert.deepEqual(items[0].events, [{ type: "Delivery", at: "2031-01-02T03:05:05.000Z", detail: null }]);
  });

  it("emails.list filters by contract, recipient and purpose, and returns pages", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    const shared = await createDraftContract(emulator.api, { contract_template_id: 104 });
    await emulator.api("POST", `/api/v2.1/public/contracts/${shared.id}/send_to_counterparties`, {
      body: { cc_emails: ["cc@acme.example"] },
    });
    await startTrial(emulator);
    const search = async (query: string) => {
      const { items, total } = (await emulator.control("GET", `emails?${query}`)).body as {
        items: { id: number; link: string | null; mode: string }[];
        total: number;
      };
      return [total, ...items.map(({ id, mode, link }) => `${id} ${mode} ${link && new URL(link).pathname}`)];
    };
    assert.deepEqual(await search("limit=2"), [5, "5 to /auth/v3/invite_info/", "4 to null"]);
    assert.deepEqual(await search("offset=3"), [5, "2 to /contracts/T-2", "1 to /contracts/T-1"]);
    assert.deepEqual(await search("contract=T-2"), [2, "3 cc /contracts/T-2", "2 to /contracts/T-2"]);
    assert.deepEqual(await search("recipient=JO@acme.example&purpose=redlining"), [1, "2 to /contracts/T-2"]);
    assert.deepEqual(await search("recipient=jo@acme.example&contract=1"), [1, "1 to /contracts/T-1"]);
    assert.deepEqual(await search("purpose=trial"), [1, "4 to null"]);
    for (const contract of ["9", "T-9", "H-2"]) assert.deepEqual(await search(`contract=${contract}`), [0]);
    assert.equal((await emulator.control("GET", "emails?purpose=spam")).status, 400);
  });

  it("contains the token of a trial or an invitation", async (t) => {
    const emulator = await startTestEmulator(t);
    const token = await startTrial(emulator);
    const { items } = (await emulator.control("GET", "emails")).body as {
      items: { token: string; cluster_id: unknown }[];
    };
    const [invitation, signup] = items;
    assert.deepEqual([signup?.token, signup?.cluster_id], [token, null]);
    assert.match(invitation!.token, /^creator-/);
    const { body } = await emulator.control("GET", `owners?identifier=${invitation!.token}`);
    assert.deepEqual(body, [{ table: "creator_tokens", key: invitation!.token, cluster_id: "eu-1" }]);
  });

  it("expires after ninety days", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "P89D" } });
    assert.equal(((await emulator.control("GET", "emails")).body as { total: number }).total, 1);
    await emulator.control("POST", "clock/advance", { body: { by: "P1D" } });
    assert.deepEqual((await emulator.control("GET", "emails")).body, { items: [], total: 0 });
  });
});

it("emails.blackhole returns the received mails, newest first", async (t) => {
  const emulator = await startTestEmulator(t);
  const path = "/router/v1/mailer/inbound/blackhole";
  const headers = { "content-type": "text/plain" };
  for (const body of ["one", "two"]) await emulator.router("POST", path, { body, headers });
  const row = (id: number, text: string) => ({
    id,
    received_at: at,
    content_type: "text/plain",
    body: Buffer.from(text).toString("base64"),
  });
  assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "blackhole")), {
    status: 200,
    body: { items: [row(2, "two"), row(1, "one")], total: 2 },
  });
  assert.deepEqual((await emulator.control("GET", "blackhole?limit=1&offset=1")).body, {
    items: [row(1, "one")],
    total: 2,
  });
});

it("trials.list returns completed signups, newest first", async (t) => {
  const emulator = await startTestEmulator(t);
  const token = await startTrial(emulator, { last_name: "Park", cluster_location: "us" });
  await emulator.router("POST", trialPath, { body: { email: "al@newco.example", captcha: "yes" } });
  const { body } = await emulator.control("GET", "trials");
  const { items, total } = body as { items: { token: string }[]; total: number };
  const [pending, creatorInvitation] = items.map(({ token: _, ...rest }) => rest);
  const blank = { oauth_provider: null, account_details: null };
  assert.equal(total, 2);
  assert.equal(items[1]?.token, token);
  assert.deepEqual(pending, {
    id: 2,
    email: "al@newco.example",
    ...blank,
    answers: null,
    cluster_id: null,
    workspace_id: null,
  });
  assert.deepEqual(creatorInvitation, {
    id: 1,
    email: "zoe@newco.example",
    ...blank,
    answers: {
      ...form,
      last_name: "Park",
      cluster_location: "us",
      invited_users: [{ email: "bob@newco.example", first_name: "Bob" }],
    },
    cluster_id: "us-1",
    workspace_id: 4,
  });
});
