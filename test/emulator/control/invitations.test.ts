import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
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

const list = async ({ control }: TestEmulator, query = "") =>
  (await control("GET", `invitations${query}`)).body as { items: readonly Row[]; total: number };

const accept = ({ control }: TestEmulator, token: string) =>
  control("POST", `invitations/by_token/${encodeURIComponent(token)}/accept`);

/** A workspace of Zoe's, to which Bob is invited. */
async function inviteUser(emulator: TestEmulator): Promise<Row> {
  const signup = { email: "zoe@newco.example", captcha: "yes" };
  const { token } = (await emulator.router("POST", "/router/v1/trial/signup", { body: signup })).body as {
    token: string;
  };
  const form = { first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "Software", use_case: "Sales" };
  const invited_users = [{ email: bob, first_name: "Bob" }];
  await emulator.router("POST", "/router/v1/trial/signup/complete", { body: { ...form, token, invited_users } });
  return (await list(emulator, `?email=${bob}`)).items[0]!;
}

describe("invitations.list", () => {
  it("lists users invited by clusters, newest first, then tokens of the seed", async (t) => {
    const emulator = await startTestEmulator(t);
    const { token, link } = await inviteUser(emulator);
    const contract = await createSentContract(emulator.api);
    const { items, total } = await list(emulator);
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
      link: await getSigningLink(emulator, contract, "jo@acme.example"),
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
    assert.equal(link, `${emulator.routerUrl}/auth/v3/invite_info/?token=${token}`);
    assert.deepEqual(ofSeed, {
      token: "creator-northwind",
      kind: "creator",
      state: "PENDING",
      email: null,
      name: null,
      cluster_id: "eu-1",
      workspace_id: 1,
      contract_id: null,
      link: `${emulator.routerUrl}/auth/v3/invite_info/?token=creator-northwind`,
      issued_at: null,
    });
  });

  it("filters by cluster, workspace, user, kind and state, in pages", async (t) => {
    const emulator = await startTestEmulator(t);
    await inviteUser(emulator);
    await createSentContract(emulator.api);
    const search = async (query: string) => {
      const { items, total } = await list(emulator, `?${query}`);
      return [total, ...items.map(({ email, token }) => email ?? token)];
    };
    assert.deepEqual(await search("limit=3&offset=1"), [4, bob, "creator-northwind", "counterparty-northwind"]);
    assert.deepEqual(await search("offset=3"), [4, "counterparty-northwind"]);
    assert.deepEqual(await search("offset=9"), [4]);
    assert.deepEqual(await search("cluster=us-1"), [0]);
    assert.deepEqual(await search("cluster=eu-1&limit=1"), [4, "jo@acme.example"]);
    assert.deepEqual(await search("workspace=1&limit=2"), [3, "jo@acme.example", "creator-northwind"]);
    assert.deepEqual(await search("email=%20BOB@newco.example"), [1, bob]);
    assert.deepEqual(await search(`email=${bob}&workspace=1`), [0]);
    assert.deepEqual(await search("kind=counterparty&workspace=1"), [2, "jo@acme.example", "counterparty-northwind"]);
    assert.deepEqual(await search("state=ACCEPTED"), [0]);
    assert.equal((await emulator.control("GET", "invitations?kind=admin")).status, 400);
  });

  it("shows a contract's invitations as ended after the contract ends", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createSentContract(emulator.api);
    await emulator.api("POST", `/api/v2.1/public/contracts/${id}/status/void`, { body: { note: "Off" } });
    const { items } = await list(emulator, "?state=ENDED");
    assert.deepEqual(
      items.map(({ email }) => email),
      ["jo@acme.example"],
    );
    assert.equal((await emulator.control("POST", `contracts/${id}/delete`)).status, 200);
    const [{ link }] = (await list(emulator, "?state=ENDED")).items as [Row];
    const { status, body } = await emulator.router("GET", link.slice(emulator.routerUrl.length));
    assert.deepEqual([status, (body as Row).state], [200, "ENDED"]);
  });
});

describe("invitations.accept", () => {
  it("activates the member, maps the address and ends the token", async (t) => {
    const emulator = await startTestEmulator(t);
    const row = await inviteUser(emulator);
    const accepted = { ...row, state: "ACCEPTED" };
    assert.deepEqual(pickStatusAndBody(await accept(emulator, row.token)), { status: 200, body: accepted });
    await waitUntilIdle(emulator);
    assert.deepEqual((await list(emulator, `?email=${bob}`)).items, [accepted]);
    assert.equal((await emulator.router("POST", "/api/v1/svc_auth/login_v2/", { body: { email: bob } })).status, 200);
    const hash = hashEmail(bob);
    const mapped = await emulator.router("GET", `/router/v1/cluster_emails/email/${hash}`);
    assert.deepEqual(pickStatusAndBody(mapped), { status: 200, body: { email_hash: hash, cluster_id: "eu-1" } });
    assert.deepEqual((await emulator.control("GET", `owners?identifier=${row.token}`)).body, []);
  });

  const rejectedCases: [string, number, (emulator: TestEmulator) => Promise<string>, object][] = [
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
        hint: "To invite a person, use invited_users of `svc trial complete`.",
      },
    ],
    [
      "invitation-to-contract",
      409,
      async (emulator) => {
        await createSentContract(emulator.api);
        return (await list(emulator, "?email=jo@acme.example")).items[0]!.token;
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
      async (emulator) => {
        const { token } = await inviteUser(emulator);
        assert.equal((await accept(emulator, token)).status, 200);
        await waitUntilIdle(emulator);
        return token;
      },
      { code: "invitation_already_accepted", message: `${bob} has already accepted this invitation.` },
    ],
  ];
  for (const [code, status, prepare, error] of rejectedCases) {
    it(`rejects with ${code}, without changes`, async (t) => {
      const emulator = await startTestEmulator(t);
      const token = await prepare(emulator);
      await assertRejected(emulator, () => accept(emulator, token), { status, body: { error } });
    });
  }
});
