import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { createSentContract } from "../../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { waitUntilIdle } from "../../../support/rejections.ts";

const notFound = { status: 404, body: { detail: "Invitation not found" } };
const creator = "creator-northwind";
const counterparty = "counterparty-northwind";
const northwind = {
  state: "PENDING",
  email: null,
  name: null,
  cluster_id: "eu-1",
  workspace: { id: 1, name: "Northwind Legal" },
  contract: null,
};
const ofCreator = { token: creator, kind: "creator", ...northwind };
const ofCounterparty = { token: counterparty, kind: "counterparty", ...northwind };

describe("invitation token", () => {
  const routes: [string, unknown][] = [
    [`/contract-invite/creator/by_token/${creator}`, ofCreator],
    [`/v3/contract-invite/creator/by_token/${creator}`, ofCreator],
    [`/contract-invite/counter_party/by_token/${counterparty}`, ofCounterparty],
    [`/v3/contract-invite/counterparty/by_token/${counterparty}`, ofCounterparty],
    [`/contract-invite/anybody/by_token/${counterparty}`, ofCounterparty],
    [`/organization/user-invite/by_token/${creator}`, ofCreator],
    [`/auth/v3/invite_info/?token=${counterparty}`, ofCounterparty],
  ];
  for (const [path, body] of routes) {
    it(`returns the invitation at ${path}, whether the token is mapped or not`, async (t) => {
      const emulator = await startTestEmulator(t);
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), { status: 200, body });
      const { clusterKey } = emulator.clusters[0]!;
      for (const [kind, token] of [
        ["creator", creator],
        ["counter_party", counterparty],
      ] as const) {
        const unmap = { body: { tokens: [token], cluster_id: "eu-1" }, headers: { "x-cluster-key": clusterKey } };
        assert.equal((await emulator.router("DELETE", `/router/v1/cluster_tokens/bulk/${kind}`, unmap)).status, 200);
      }
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), { status: 200, body });
      const [eu, us] = emulator.clusters.map(({ url }) => createSender(url));
      assert.deepEqual(pickStatusAndBody(await eu!("GET", path)), { status: 200, body });
      assert.deepEqual(pickStatusAndBody(await us!("GET", path)), notFound);
    });
  }

  for (const path of [
    `/contract-invite/creator/by_token/${counterparty}`,
    `/contract-invite/counter_party/by_token/${creator}`,
    "/contract-invite/creator/by_token/__proto__",
    "/contract-invite/constructor/by_token/%00",
    "/organization/user-invite/by_token/nobody",
    "/auth/v3/invite_info/?token=",
  ]) {
    it(`returns 404 at ${path}`, async (t) => {
      assert.deepEqual(pickStatusAndBody(await (await startTestEmulator(t)).router("GET", path)), notFound);
    });
  }

  it("names the recipient and the contract after the contract is sent", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createSentContract(emulator.api);
    const emails = (await emulator.control("GET", "emails?recipient=jo@acme.example")).body as {
      items: { token: string }[];
    };
    const { token } = emails.items[0]!;
    assert.match(token, /^counterparty-[\w-]{24}$/);
    const expected = {
      token,
      kind: "counterparty",
      state: "PENDING",
      email: "jo@acme.example",
      name: "Jo Doe",
      cluster_id: "eu-1",
      workspace: { id: 1, name: "Northwind Legal" },
      contract: { id, contract_name: "NDA with Acme", contract_status: "SIGN" },
    };
    const response = await emulator.router("GET", `/v3/contract-invite/counter_party/by_token/${token}`);
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: expected });
  });
});

describe("lookup of sign-in methods", () => {
  const login = ({ router }: TestEmulator, email: string) =>
    router("POST", "/api/v1/svc_auth/login_v2/", { body: { email } });

  it("returns the sign-in URLs of an active member", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status, body } = await login(emulator, " ELI@fabrikam.example ");
    const { sign_in, ...rest } = body as { sign_in: { method: string; provider: string; login_url: string }[] };
    assert.deepEqual(
      [status, rest],
      [
        200,
        {
          cluster_id: "us-1",
          email: "eli@fabrikam.example",
          name: "Eli Stone",
          workspace: { id: 3, name: "Fabrikam Sales" },
        },
      ],
    );
    assert.deepEqual(
      sign_in.map(({ method, provider }) => [method, provider]),
      [
        ["oauth", "ProviderA"],
        ["oauth", "ProviderB"],
        ["oauth", "ProviderC"],
      ],
    );
    const response = await emulator.router("GET", sign_in[1]!.login_url.slice(emulator.routerUrl.length));
    const { state, authorization_url } = response.body as { state: string; authorization_url: string };
    assert.match(state, /^us-1_/);
    assert.equal(new URL(authorization_url).searchParams.get("provider"), "ProviderB");
  });

  for (const email of ["nobody@northwind.example", "cleo@northwind.example", "", "__proto__"]) {
    it(`returns 404 for ${email || "an empty address"}`, async (t) => {
      assert.deepEqual(pickStatusAndBody(await login(await startTestEmulator(t), email)), {
        status: 404,
        body: { detail: "No account with this e-mail" },
      });
    });
  }

  it("requires an address", async (t) => {
    const emulator = await startTestEmulator(t);
    const send = createSender(emulator.clusters[0]!.url);
    for (const body of ["", "[]", '{"email":1}', "{"]) {
      assert.deepEqual(pickStatusAndBody(await send("POST", "/api/v1/svc_auth/login_v2/", { body })), {
        status: 400,
        body: { detail: "The request has no email" },
      });
    }
  });
});

/** Submits the provider's page as that user and follows the redirect to the router. */
async function loginWithProvider(
  { router, control }: TestEmulator,
  flow: "login" | "signup",
  email: string,
  clusterId = "eu-1",
) {
  const { body } = await router("GET", `/api/v1/svc_auth/oauth/${flow}?cluster_id=${clusterId}`);
  const { state } = body as { state: string };
  const page = await control("GET", `provider?flow=${flow}&provider=ProviderA&state=${state}`);
  const [, form_token = ""] = /name="form_token" value="([^"]+)"/.exec(String(page.body)) ?? [];
  const form = new URLSearchParams({ flow, provider: "ProviderA", state, form_token, email, name: "Max" });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { headers: sentBack } = await control("POST", "provider", { body: form.toString(), headers });
  const back = new URL(sentBack.get("location")!);
  return router("GET", back.pathname + back.search);
}

describe("sign-up with a provider", () => {
  const max = "max@newco.example";

  it("creates the account and the workspace for later sign-ins", async (t) => {
    const emulator = await startTestEmulator(t);
    assert.equal((await loginWithProvider(emulator, "login", max, "us-1")).status, 404);
    const response = await loginWithProvider(emulator, "signup", max, "us-1");
    assert.equal(response.status, 200, JSON.stringify(response.body));
    const { user_id, workspace_id } = response.body as { user_id: number; workspace_id: number };
    await waitUntilIdle(emulator);
    assert.deepEqual(
      pickStatusAndBody(await loginWithProvider(emulator, "login", max, "us-1")),
      pickStatusAndBody(response),
    );
    assert.deepEqual(
      pickStatusAndBody(await loginWithProvider(emulator, "signup", max, "us-1")),
      pickStatusAndBody(response),
    );
    const home = await emulator.router("GET", `/router/v1/cluster_emails/email/${hashEmail(max)}`);
    assert.deepEqual(home.body, { email_hash: hashEmail(max), cluster_id: "us-1" });
    const all = (await emulator.control("GET", "workspaces")).body as {
      id: number;
      client_id: string;
      client_secret: string;
    }[];
    const { client_id, client_secret } = all.find(({ id }) => id === workspace_id)!;
    const api = createSender(emulator.routerUrl, { "client-id": client_id, "client-secret": client_secret });
    const users = (await api("GET", "/api/v2.1/public/auth/users/")).body as { results: { id: number }[] };
    assert.deepEqual(
      users.results.map(({ id }) => id),
      [user_id],
    );
  });

  it("rejects a user of another cluster and a deactivated user", async (t) => {
    const emulator = await startTestEmulator(t);
    const rejection = { status: 400, body: { detail: "An account with this e-mail exists" } };
    assert.deepEqual(pickStatusAndBody(await loginWithProvider(emulator, "signup", "eli@fabrikam.example")), rejection);
    assert.deepEqual(
      pickStatusAndBody(await loginWithProvider(emulator, "signup", "cleo@northwind.example")),
      rejection,
    );
  });

  it("accepts the invitation of an invited user and ends its token", async (t) => {
    const emulator = await startTestEmulator(t);
    const signup = { email: "zoe@newco.example", captcha: "yes" };
    const { token } = (await emulator.router("POST", "/router/v1/trial/signup", { body: signup })).body as {
      token: string;
    };
    const form = { first_name: "Zoe", job_title: "Counsel", company_name: "Newco", industry: "x", use_case: "y" };
    const invited_users = [{ email: max, first_name: "Max" }];
    const { body } = await emulator.router("POST", "/router/v1/trial/signup/complete", {
      body: { ...form, token, invited_users },
    });
    const { workspace_id } = body as { workspace_id: number };
    const { items } = (await emulator.control("GET", `emails?recipient=${max}`)).body as {
      items: { token: string; link: string }[];
    };
    const invite = items[0]!;
    const showInvitation = async () =>
      (await emulator.router("GET", invite.link.slice(emulator.routerUrl.length))).body;
    const expected = {
      token: invite.token,
      kind: "creator",
      email: max,
      name: "Max",
      cluster_id: "eu-1",
      workspace: { id: workspace_id, name: "Newco" },
      contract: null,
    };
    assert.deepEqual(await showInvitation(), { ...expected, state: "PENDING" });
    const owners = async () => (await emulator.control("GET", `owners?identifier=${invite.token}`)).body;
    assert.deepEqual(await owners(), [{ table: "creator_tokens", key: invite.token, cluster_id: "eu-1" }]);

    const account = await loginWithProvider(emulator, "signup", max);
    assert.equal((account.body as { workspace_id: number }).workspace_id, workspace_id);
    await waitUntilIdle(emulator);
    assert.deepEqual(await showInvitation(), { ...expected, state: "ACCEPTED" });
    assert.deepEqual(await owners(), []);
    assert.deepEqual(pickStatusAndBody(await loginWithProvider(emulator, "login", max)), pickStatusAndBody(account));
    const login = await emulator.router("POST", "/api/v1/svc_auth/login_v2/", { body: { email: max } });
    assert.equal((login.body as { name: string }).name, "Max");
  });
});
