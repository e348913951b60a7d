import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const signup = "/router/v1/trial/signup";
const complete = "/router/v1/trial/signup/complete";
const callback = `${signup}/oauth/callback`;
const form = {
  first_name: "Zoe",
  job_title: "General Counsel",
  company_name: "Newco",
  industry: "Software",
  use_case: "Sales contracts",
};
const exists = { status: 400, body: { detail: "An account with this e-mail exists" } };
const zoe = "zoe@newco.example";
/** Spellings of one e-mail address. */
const spellings = [zoe, "  Zoe@NEWCO.example ", "ZOE@newco.example\t"];

type World = Pick<TestEmulator, "router" | "control">;

const begin = ({ router }: World, email: string) => router("POST", signup, { body: { email, captcha: "yes" } });

async function startSignup(world: World, email: string): Promise<string> {
  const { status, body } = await begin(world, email);
  assert.equal(status, 200);
  return (body as { token: string }).token;
}

/** Signs in at the provider with the e-mail address, and returns the callback URL. */
async function signInAtProvider({ router, control }: World, email: string): Promise<string> {
  const { body } = await router("GET", `${signup}/oauth`);
  const { state } = body as { state: string };
  const page = await control("GET", `provider?flow=trial&provider=ProviderA&state=${state}`);
  const [, form_token] = /name="form_token" value="([^"]+)"/.exec(String(page.body))!;
  const response = await control("POST", "provider", {
    body: new URLSearchParams({
      flow: "trial",
      provider: "ProviderA",
      state,
      form_token: form_token!,
      email,
      name: "Z",
    }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  return `${callback}${new URL(response.headers.get("location")!).search}`;
}

const getMapping = async ({ router }: World) =>
  (await router("GET", `/router/v1/cluster_emails/email/${hashEmail(zoe)}`)).body as { cluster_id?: string };

describe("user with a mapped address", () => {
  for (const spelling of spellings) {
    it(`cannot sign up for a trial as ${JSON.stringify(spelling)}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      await emulator.map("emails", "us-1", [hashEmail(zoe)]);
      await assertRejected(emulator, () => begin(emulator, spelling), exists);
      const back = await signInAtProvider(emulator, spelling.trim());
      await assertRejected(emulator, () => emulator.router("GET", back), exists);
    });
  }

  it("stays in their cluster if mapped after the signup started", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const token = await startSignup(emulator, zoe);
    await emulator.map("emails", "us-1", [hashEmail(zoe)]);
    const send = () => emulator.router("POST", complete, { body: { ...form, token, cluster_location: "eu-1" } });
    await assertRejected(emulator, send, exists);
    assert.deepEqual(emulator.listForwarded(), [], "no cluster is asked for a workspace");
    await assertRejected(emulator, () => begin(emulator, zoe), exists);
  });

  it("stays in their cluster if mapped during the completion request", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const token = await startSignup(emulator, zoe);
    emulator.eu.respond(async (_, response) => {
      await emulator.map("emails", "us-1", [hashEmail(zoe)]);
      response.writeHead(201).end('{"workspace_id":70,"client_id":"wc","creator_tokens":["ct"]}');
    });
    const send = () => emulator.router("POST", complete, { body: { ...form, token, cluster_location: "eu-1" } });
    assert.deepEqual(pickStatusAndBody(await send()), exists);
    assert.deepEqual(await getMapping(emulator), { email_hash: hashEmail(zoe), cluster_id: "us-1" });
    assert.equal((await emulator.router("GET", "/router/v1/cluster_clients/client/wc")).status, 404);
    await assertRejected(emulator, send, exists);
    const { body } = await emulator.control("GET", "requests");
    const findingCodes = (body as { items: { findings: { code: string }[] }[] }).items
      .flatMap(({ findings }) => findings)
      .filter(({ code }) => code !== "no-cluster-key");
    assert.deepEqual(findingCodes, [
      { code: "workspace-not-mapped", detail: "eu-1 created workspace 70 without a pending signup" },
    ]);
  });
});

describe("user of a workspace", () => {
  it("cannot sign up, even without a mapping", async (t) => {
    const emulator = await startTestEmulator(t);
    const users = (await emulator.api("GET", "/api/v2.1/public/auth/users/")).body as { results: { email: string }[] };
    const { email } = users.results[0]!;
    const key = { "x-cluster-key": emulator.clusters[0]!.clusterKey };
    const body = { email_hash_list: [hashEmail(email)], cluster_id: emulator.clusters[0]!.id };
    const response = await emulator.router("DELETE", "/router/v1/cluster_emails/bulk", { body, headers: key });
    assert.equal(response.status, 200);
    await assertRejected(emulator, () => begin(emulator, ` ${email.toUpperCase()}`), exists);
  });

  it("can sign up again after the workspace was removed", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const workspace_id of [4, 5]) {
      const body = { ...form, token: await startSignup(emulator, zoe) };
      assert.deepEqual(pickStatusAndBody(await emulator.router("POST", complete, { body })), {
        status: 200,
        body: { cluster_id: "eu-1", workspace_id, cluster_url: `${emulator.clusters[0]!.url}/` },
      });
      await assertRejected(emulator, () => begin(emulator, zoe), exists);
      assert.equal((await emulator.control("DELETE", `workspaces/${workspace_id}`)).status, 200);
    }
  });

  it("receives the workspace created before a restart by repeating the request", async (t) => {
    const emulator = await startTestEmulator(t);
    const token = await startSignup(emulator, zoe);
    const eu = emulator.clusters[0]!;
    const signup = { ...form, last_name: null, signup_token: token, email: zoe, invited_users: [] };
    const response = await fetch(`${eu.url}/api/v1/organization/trial_signup/`, {
      method: "POST",
      headers: { "x-cluster-key": eu.clusterKey },
      body: JSON.stringify(signup),
    });
    const { workspace_id } = (await response.json()) as { workspace_id: number };
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", complete, { body: { ...form, token } })), {
      status: 200,
      body: { cluster_id: "eu-1", workspace_id, cluster_url: `${eu.url}/` },
    });
  });
});

describe("concurrent signup with one address", () => {
  it("counts as one signup and creates one workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const [backs, tokens] = [
      await signInAtProvider(emulator, zoe),
      await Promise.all(spellings.map((each) => startSignup(emulator, each))),
    ];
    const byProvider = (await emulator.router("GET", backs)).body as { token: string };
    assert.deepEqual(new Set([...tokens, byProvider.token]).size, 1);

    const before = (await emulator.control("GET", "workspaces")).body as unknown[];
    const clusterIds = ["eu-1", "us-1", "eu-1", "us-1"];
    const responses = await Promise.all(
      clusterIds.map((cluster_location) =>
        emulator.router("POST", complete, { body: { ...form, token: tokens[0], cluster_location } }),
      ),
    );
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 404, 404, 404]);
    const won = responses.find(({ status }) => status === 200)!.body as { cluster_id: string };
    assert.equal((await getMapping(emulator)).cluster_id, won.cluster_id);
    const after = (await emulator.control("GET", "workspaces")).body as unknown[];
    assert.equal(after.length, before.length + 1);
    for (const spelling of spellings) await assertRejected(emulator, () => begin(emulator, spelling), exists);
  });
});
