import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../src/schemes/email-hash.ts";
import { createSentContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { getSigningLink } from "../../support/identity/recipient-page.ts";
import { assertRejected, waitUntilIdle } from "../../support/rejections.ts";

const at = "2031-01-02T03:04:05.000Z";
const bob = "bob@newco.example";

interface Row {
  readonly token: string;
  readonly kind: string;
  readonly state: string;
  readonly email: string | null;
  readonly link: string;
  readonly workspace_id: number;
}

const list = async ({ ask }: TestEmulator, query = "") =>
  (await ask("GET", `invitations${query}`)).body as { items: readonly Row[]; total: number };

const accept = ({ ask }: TestEmulator, token: string) =>
  ask("POST", `invitations/by_token/${encodeURIComponent(token)}/accept`);

/** A workspace of Zoe's, to which Bob is invited. */
async function inviteUser(on: TestEmulator): Promise<Row> {
  const signup = { email: "zoe@newco.example", captcha: "yes" };
  const { token } = (await on.router("POST", "/router/v1/trial/signup", { body: signup })).body as { token: string };
  const form = { first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "Software", use_case: "Sales" };
  const invited_users = [{ email: bob, first_name: "Bob" }];
  await on.router("POST", "/router/v1/trial/signup/complete", { body: { ...form, token, invited_users } });
  return (await list(on, `?email=${bob}`)).items[0]!;
}

describe("invitations.list", () => {
  it("lists users invited by clusters, newest first, then tokens of the seed", async (t) => {
    const on = await startTestEmulator(t);
    const { token, link } = await inviteUser(on);
    const contract = await createSentContract(on.api);
    const { items, total } = await list(on);
    assert.equal(total, items.length);
    assert.deepEqual(
      items.map(({ kind, email, workspace_id }) => [kind, email, workspace_id]),
      [
        ["counterparty", "jo@acme.example", 1],
        ["creator", bob, 4],
        ["creator", null, 1],
        ["counterparty", null, 1],
      ],
    );
    const [ofContract, ofMember, ofSeed] = items;
    assert.match(ofContract!.token, /^counterparty-/);
    assert.deepEqual(ofContract, {
      token: ofContract!.token,
      kind: "counterparty",
      state: "PENDING",
      email: "jo@acme.example",
      name: "Jo Doe",
      cluster_id: "eu-1",
      workspace_id: 1,
      contract_id: 1,
      link: await getSigningLink(on, contract, "jo@acme.example"),
      issued_at: at,
    });
    assert.deepEqual(ofMember, {
      token,
      kind: "creator",
      state: "PENDING",
      email: bob,
      name: "Bob",
      cluster_id: "eu-1",
      workspace_id: 4,
      contract_id: null,
      link,
      issued_at: at,
    });
    assert.equal(link, `${on.routerUrl}/auth/v3/invite_info/?token=${token}`);
    assert.deepEqual(ofSeed, {
      token: "creator-northwind",
      kind: "creator",
      state: "PENDING",
      email: null,
      name: null,
      cluster_id: "eu-1",
      workspace_id: 1,
      contract_id: null,
      link: `${on.routerUrl}/auth/v3/invite_info/?token=creator-northwind`,
      issued_at: null,
    });
  });

  it("filters by cluster, workspace, user, kind and state, in pages", async (t) => {
    const on = await startTestEmulator(t);
    await inviteUser(on);
    await createSentContract(on.api);
    const found = async (query: string) => {
      const { items, total } = await list(on, `?${query}`);
      return [total, ...items.map(({ email, token }) => email ?? token)];
    };
    assert.deepEqual(await found("limit=3&offset=1"), [4, bob, "creator-northwind", "counterparty-northwind"]);
    assert.deepEqual(await found("offset=3"), [4, "counterparty-northwind"]);
    assert.deepEqual(await found("offset=9"), [4]);
    assert.deepEqual(await found("cluster=us-1"), [0]);
    assert.deepEqual(await found("cluster=eu-1&limit=1"), [4, "jo@acme.example"]);
    assert.deepEqual(await found("workspace=1&limit=2"), [3, "jo@acme.example", "creator-northwind"]);
    assert.deepEqual(await found("email=%20BOB@newco.example"), [1, bob]);
    assert.deepEqual(await found(`email=${bob}&workspace=1`), [0]);
    assert.deepEqual(await found("kind=counterparty&workspace=1"), [2, "jo@acme.example", "counterparty-northwind"]);
    assert.deepEqual(await found("state=ACCEPTED"), [0]);
    assert.equal((await on.ask("GET", "invitations?kind=admin")).status, 400);
  });

  it("shows a contract's invitations as ended after the contract ends", async (t) => {
    const on = await startTestEmulator(t);
    const { id } = await createSentContract(on.api);
    await on.api("POST", `/api/v2.1/public/contracts/${id}/status/void`, { body: { note: "Off" } });
    const { items } = await list(on, "?state=ENDED");
    assert.deepEqual(
      items.map(({ email }) => email),
      ["jo@acme.example"],
    );
    assert.equal((await on.ask("POST", `contracts/${id}/delete`)).status, 200);
    const [{ link }] = (await list(on, "?state=ENDED")).items as [Row];
    const { status, body } = await on.router("GET", link.slice(on.routerUrl.length));
    assert.deepEqual([status, (body as Row).state], [200, "ENDED"]);
  });
});

describe("invitations.accept", () => {
  it("activates the member, maps the address and ends the token", async (t) => {
    const on = await startTestEmulator(t);
    const row = await inviteUser(on);
    const accepted = { ...row, state: "ACCEPTED" };
    assert.deepEqual(pickStatusAndBody(await accept(on, row.token)), { status: 200, body: accepted });
    await waitUntilIdle(on);
    assert.deepEqual((await list(on, `?email=${bob}`)).items, [accepted]);
    assert.equal((await on.router("POST", "/api/v1/svc_auth/login_v2/", { body: { email: bob } })).status, 200);
    const hash = hashEmail(bob);
    const mapped = await on.router("GET", `/router/v1/cluster_emails/email/${hash}`);
    assert.deepEqual(pickStatusAndBody(mapped), { status: 200, body: { email_hash: hash, cluster_id: "eu-1" } });
    assert.deepEqual((await on.ask("GET", `owners?identifier=${row.token}`)).body, []);
  });

  const refusals: [string, number, (on: TestEmulator) => Promise<string>, object][] = [
    [
      "no-such-invitation",
      404,
      async () => "__proto__",
      {
        code: "no_such_invitation",
        message: "Invitation not found for this token.",
        hint: "List them with `svc emulator invitations`.",
      },
    ],
    [
      "invitation-without-recipient",
      409,
      async () => "creator-northwind",
      {
        code: "invitation_without_recipient",
        message: "This token is from the seed, for the workspace Northwind Legal, and invites no particular person.",
        hint: "Invite a person: `svc trial complete` with invited_users.",
      },
    ],
    [
      "invitation-to-contract",
      409,
      async (on) => {
        await createSentContract(on.api);
        return (await list(on, "?email=jo@acme.example")).items[0]!.token;
      },
      {
        code: "invitation_to_contract",
        message: "The invitation of jo@acme.example to the contract T-1 cannot be accepted. It ends with the contract.",
        hint: "Open its link (`svc emulator invitations`), or sign with `svc emulator sign`.",
      },
    ],
    [
      "invitation-already-accepted",
      409,
      async (on) => {
        const { token } = await inviteUser(on);
        assert.equal((await accept(on, token)).status, 200);
        await waitUntilIdle(on);
        return token;
      },
      { code: "invitation_already_accepted", message: `${bob} has already accepted this invitation.` },
    ],
  ];
  for (const [code, status, prepare, error] of refusals) {
    it(`rejects with ${code}, without changes`, async (t) => {
      const on = await startTestEmulator(t);
      const token = await prepare(on);
      await assertRejected(on, () => accept(on, token), { status, body: { error } });
    });
  }
});
