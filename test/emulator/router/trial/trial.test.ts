import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";
import { trialSignupFields } from "../../../support/trial.ts";

const signup = "/router/v1/trial/signup";
const complete = "/router/v1/trial/signup/complete";
const person = { email: "Zoe@Newco.example", captcha: "yes" };

async function startSignup({ router }: Pick<TestEmulator, "router">, email = person.email): Promise<string> {
  const { body } = await router("POST", signup, { body: { ...person, email } });
  return (body as { token: string }).token;
}

describe("trial signup", () => {
  it("is stored as pending once per e-mail address, and does not change if repeated", async (t) => {
    const { router } = await startTestEmulator(t);
    const first = await router("POST", signup, { body: person });
    const { token, ...rest } = first.body as { token: string };
    assert.deepEqual(
      { status: first.status, rest },
      { status: 200, rest: { id: 1, email: person.email, oauth_provider: null, account_details: null } },
    );
    assert.match(token, /^trl_[\w-]{32}$/);
    const secondResponse = await router("POST", signup, { body: { ...person, email: " zoe@newco.EXAMPLE" } });
    assert.deepEqual(pickStatusAndBody(secondResponse), pickStatusAndBody(first));
    const otherResponse = await router("POST", signup, { body: { ...person, email: "other@newco.example" } });
    assert.equal((otherResponse.body as { id: number }).id, 2);
  });

  const failed = { status: 400, body: { detail: 'Captcha verification failed (the word "fail" always fails)' } };
  const captchas: [string, string | undefined, boolean][] = [
    ["anything", undefined, true],
    ["fail", undefined, false],
    ["", undefined, false],
    ["anything", "203.0.113.9", false],
    ["from-the-seed", "203.0.113.9", true],
    ["anything", "10.0.0.7, 203.0.113.9", true],
    ["from-the-seed", "127.0.0.1", true],
  ];
  for (const [captcha, forwardedFor, passes] of captchas) {
    it(`${passes ? "passes" : "fails"} with the captcha "${captcha}" from ${forwardedFor ?? "this machine"}`, async (t) => {
      const apps = { captcha: { captcha_token: "from-the-seed", test_addresses: ["127.0.0.1", "10.0.0.7"] } };
      const emulator = await startTestEmulator(t, { seed: { clusters: [{ id: "eu-1", label: "eu" }], apps } });
      const headers: Record<string, string> = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
      const send = () => emulator.router("POST", signup, { body: { ...person, captcha }, headers });
      if (passes) assert.equal((await send()).status, 200);
      else await assertRejected(emulator, send, failed);
    });
  }

  it("passes with any captcha from this machine on a listener for IPv4 and IPv6", async (t) => {
    const { router } = await startTestEmulator(t, { host: "::" });
    const { body } = await router("GET", "/api/v1/auth/captcha-config");
    assert.deepEqual(body, { use_test_captcha: true });
    assert.equal((await router("POST", signup, { body: person })).status, 200);
  });
});

describe("signup completion", () => {
  it("creates a workspace with a working API key and maps its users", async (t) => {
    const emulator = await startTestEmulator(t);
    const token = await startSignup(emulator);
    const invited_users = [
      { email: "a@newco.example", first_name: "A" },
      { email: "b@newco.example", first_name: "B" },
    ];
    const response = await emulator.router("POST", complete, {
      body: { ...trialSignupFields, token, cluster_location: "us", invited_users },
    });
    const us = emulator.clusters[1]!;
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: { cluster_id: "us-1", workspace_id: 4, cluster_url: `${us.url}/` },
    });

    const all = (await emulator.control("GET", "workspaces")).body as Record<string, unknown>[];
    const workspace = all.find(({ id }) => id === 4) as { client_id: string; client_secret: string } & Record<
      string,
      unknown
    >;
    assert.equal(workspace.name, "Newco");
    assert.deepEqual([workspace.industry, workspace.use_case], ["Software", "Sales contracts"]);
    const creators = workspace.creator_tokens as string[];
    assert.equal(creators.length, 2);
    const findCluster = async (path: string) =>
      ((await emulator.router("GET", path)).body as { cluster_id: string }).cluster_id;
    assert.equal(await findCluster(`/router/v1/cluster_emails/email/${hashEmail(person.email)}`), "us-1");
    assert.equal(await findCluster(`/router/v1/cluster_clients/client/${workspace.client_id}`), "us-1");
    for (const creator of creators) assert.equal(await findCluster(`/auth/v3/invite_info/?token=${creator}`), "us-1");

    const api = createSender(us.url, { "client-id": workspace.client_id, "client-secret": workspace.client_secret });
    const users = (await api("GET", "/api/v2.1/public/auth/users/")).body as { results: Record<string, unknown>[] };
    assert.deepEqual(
      users.results.map(({ name, email, designation, is_active }) => ({ name, email, designation, is_active })),
      [
        { name: "Zoe Park", email: person.email, designation: "General Counsel", is_active: true },
        { name: "A", email: "a@newco.example", designation: undefined, is_active: false },
        { name: "B", email: "b@newco.example", designation: undefined, is_active: false },
      ],
    );
    const contracts = await api("GET", "/api/v2.1/public/contracts/");
    assert.equal(contracts.status, 200);
  });

  for (const [cluster_location, cluster] of [
    [undefined, "eu-1"],
    [null, "eu-1"],
    ["us-1", "us-1"],
    ["us", "us-1"],
    ["eu-1", "eu-1"],
  ] as const) {
    it(`uses ${cluster} for the location ${cluster_location}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const token = await startSignup(emulator);
      const { status, body } = await emulator.router("POST", complete, {
        body: { ...trialSignupFields, token, cluster_location },
      });
      assert.deepEqual([status, (body as { cluster_id: string }).cluster_id], [200, cluster]);
    });
  }

  it("requires an unused token and an existing location", async (t) => {
    const emulator = await startTestEmulator(t);
    const token = await startSignup(emulator);
    const send = (body: object) => () => emulator.router("POST", complete, { body: { ...trialSignupFields, ...body } });
    const unknownSignupToken = { status: 404, body: { detail: "Unknown or used signup token" } };
    await assertRejected(emulator, send({ token: "trl_x" }), unknownSignupToken);
    await assertRejected(emulator, send({ token, cluster_location: "moon" }), {
      status: 400,
      body: { detail: "Unknown cluster location: moon" },
    });
    assert.equal((await send({ token })()).status, 200);
    await assertRejected(emulator, send({ token }), unknownSignupToken);
    await assertRejected(emulator, () => emulator.router("POST", signup, { body: person }), {
      status: 400,
      body: { detail: "An account with this e-mail exists" },
    });
  });

  it("forwards the request unchanged to an external backend once", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const token = await startSignup(emulator);
    let respond = () => {};
    const requestReceived = new Promise<void>((resolve) =>
      emulator.us.respond((_, response) => {
        const created = { workspace_id: 70, client_id: "wc", creator_tokens: ["ct"], more: "of its own" };
        respond = () => response.writeHead(200).end(JSON.stringify(created));
        resolve();
      }),
    );
    const body = JSON.stringify({ ...trialSignupFields, token, cluster_location: "us-1", seats: 1.5 }, null, 1);
    const headers = { "content-type": "application/json", "x-forwarded-for": "203.0.113.9", "x-own": "kept" };
    const first = emulator.router("POST", `${complete}?from=page`, { body, headers });
    await requestReceived;
    assert.equal((await emulator.router("POST", complete, { body, headers })).status, 404);
    respond();
    assert.deepEqual(pickStatusAndBody(await first), {
      status: 200,
      body: { cluster_id: "us-1", workspace_id: 70, cluster_url: `${emulator.us.url}/` },
    });
    const [request, ...otherRequests] = emulator.us.received;
    assert.deepEqual(otherRequests, []);
    assert.deepEqual(
      [request!.method, request!.url, request!.body.toString()],
      ["POST", `${complete}?from=page`, body],
    );
    assert.equal(request!.headers["x-own"], "kept");
    assert.equal(request!.headers["x-cluster-key"], undefined);
    assert.match(String(request!.headers["x-forwarded-for"]), /^203\.0\.113\.9, /);
    const { body: mapped } = await emulator.router("GET", "/router/v1/cluster_clients/client/wc");
    assert.deepEqual(mapped, { client_id: "wc", cluster_id: "us-1" });
    assert.deepEqual((await emulator.control("GET", "owners?identifier=ct")).body, [
      { table: "creator_tokens", key: "ct", cluster_id: "us-1" },
    ]);
  });

  for (const backendBody of ["", "made", "[]", '{"workspace_id":"seventy","client_id":7,"creator_tokens":"ct"}']) {
    it(`accepts a 2xx with ${backendBody || "an empty body"} from a backend and maps the user`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const token = await startSignup(emulator);
      emulator.eu.respond((_, response) => response.writeHead(201).end(backendBody));
      assert.deepEqual(
        pickStatusAndBody(await emulator.router("POST", complete, { body: { ...trialSignupFields, token } })),
        { status: 200, body: { cluster_id: "eu-1", workspace_id: null, cluster_url: `${emulator.eu.url}/` } },
      );
      const { body } = await emulator.router("GET", `/router/v1/cluster_emails/email/${hashEmail(person.email)}`);
      assert.deepEqual(body, { email_hash: hashEmail(person.email), cluster_id: "eu-1" });
    });
  }

  it("leaves the signup valid if the cluster is down or rejects it", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const token = await startSignup(emulator);
    const send = () => emulator.router("POST", complete, { body: { ...trialSignupFields, token } });
    emulator.eu.respond((_, response) => response.destroy());
    await assertRejected(
      emulator,
      send,
      { status: 502, body: { detail: "Cluster eu-1 is unreachable" } },
      { takesBack: true },
    );
    emulator.eu.respond((_, response) => response.writeHead(409, { "x-why": "name" }).end('{"error":"Taken"}'));
    await assertRejected(emulator, send, { status: 409, body: { error: "Taken" } }, { takesBack: true });
    assert.equal((await send()).headers.get("x-why"), "name");
    emulator.eu.respond(204);
    assert.equal((await send()).status, 200);
  });

  it("leaves the signup valid if the cluster is slow", async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 1_000 });
    const token = await startSignup(emulator);
    const send = () => emulator.router("POST", complete, { body: { ...trialSignupFields, token } });
    emulator.eu.respond(() => {});
    const late = { status: 504, body: { detail: "Cluster eu-1 did not answer in time" } };
    await assertRejected(emulator, send, late, { takesBack: true });
  });

  it("returns the same workspace if repeated with the token", async (t) => {
    const emulator = await startTestEmulator(t);
    const [eu] = emulator.clusters;
    const signup = { signup_token: "t", email: "z@n.example", ...trialSignupFields, invited_users: [] };
    const signUp = (key: string, body: unknown = signup) =>
      createSender(eu!.url)("POST", "/api/v1/organization/trial_signup/", { body, headers: { "x-cluster-key": key } });
    const first = await signUp(eu!.clusterKey);
    assert.equal(first.status, 201);
    assert.deepEqual(pickStatusAndBody(await signUp(eu!.clusterKey)), pickStatusAndBody(first));
    await assertRejected(emulator, () => signUp("guess"), { status: 401, body: { detail: "Invalid cluster key" } });
    await assertRejected(emulator, () => signUp(eu!.clusterKey, { ...signup, email: 1 }), {
      status: 400,
      body: { detail: "The request is not a valid workspace request" },
    });
  });
});
