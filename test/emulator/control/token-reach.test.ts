import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";

interface Workspace {
  readonly id: number;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly hmac_key: string;
  readonly creator_tokens: readonly string[];
  readonly counterparty_tokens: readonly string[];
}

const listWorkspaces = async ({ control }: Pick<TestEmulator, "control">) =>
  (await control("GET", "workspaces")).body as readonly Workspace[];

/** Returns functions that send requests with a new token. */
async function createTokenSender(emulator: TestEmulator, body: { readonly role: string; readonly workspace?: string }) {
  const response = await emulator.control("POST", `tokens/${body.role}-${body.workspace ? "bound" : "free"}`, { body });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return createSender(emulator.controlUrl, { authorization: `Bearer ${(response.body as { token: string }).token}` });
}

/** Starts an emulator with a sent contract and its webhook in each of the first two workspaces. */
async function startSharedEmulator(t: TestContext) {
  const emulator = await startTestEmulator(t);
  const hooks = await startReceiver(t);
  const [first, second] = (await listWorkspaces(emulator)) as [Workspace, Workspace];
  const createWorkspaceSender = ({ client_id, client_secret }: Workspace) =>
    createSender(emulator.routerUrl, { "client-id": client_id, "client-secret": client_secret });
  for (const [workspace, template] of [
    [first, 101],
    [second, 103],
  ] as const) {
    const api = createWorkspaceSender(workspace);
    const body = { title: "Hooks", url: hooks.url, only_for_activities: ["CONTRACT_CREATED"] };
    await api("POST", "/api/v2.1/public/webhooks/", { body });
    await createSentContract(api, { contract_template_id: template });
  }
  await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
  return { emulator, first, second };
}

async function createBoundSender(emulator: TestEmulator, workspace: string) {
  const body = { role: "read", workspace };
  const name = workspace.replace(/\W/g, "-");
  const { token } = (await emulator.control("POST", `tokens/${name}`, { body })).body as { token: string };
  return createSender(emulator.controlUrl, { authorization: `Bearer ${token}` });
}

const masked = "[hidden: requires the role operate]";

describe("read-only token", () => {
  it("receives no keys, tokens or signing links from any operation", async (t) => {
    const { emulator, first } = await startSharedEmulator(t);
    await emulator.router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id: "demo-cli" } });
    await emulator.control("PUT", "snapshots/now");
    const reads = await createTokenSender(emulator, { role: "read" });
    const operates = await createTokenSender(emulator, { role: "operate" });
    const paths = [
      "clusters",
      "workspaces",
      "emails",
      "invitations",
      "contracts",
      "contracts/T-1",
      "device-grants",
      "requests?limit=500&reads=true",
      "deliveries",
      "deliveries/1",
      "installations",
      "clusters/eu-1/inbox",
      "blackhole",
      "snapshots/now/diff",
      "traces/T-1",
      "webhooks",
      "user-tasks",
      "trials",
    ];
    const textOf = async (send: typeof reads) => {
      const responses = await Promise.all(paths.map((path) => send("GET", path)));
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
      return JSON.stringify(responses.map(({ body }) => body));
    };
    const emails = (await emulator.control("GET", "emails")).body as { items: { link: string | null }[] };
    const links = emails.items.flatMap(({ link }) => link ?? []);
    const grants = (await emulator.control("GET", "device-grants")).body as { user_code: string }[];
    const secrets = [
      first.client_secret,
      first.hmac_key,
      ...emulator.clusters.map(({ clusterKey }) => clusterKey),
      ...links,
      ...grants.map(({ user_code }) => user_code),
    ];
    assert.ok(links.length > 0 && grants.length > 0);
    const [asReader, asOperator] = [await textOf(reads), await textOf(operates)];
    assert.deepEqual(
      secrets.map((secret) => [asReader.includes(secret), asOperator.includes(secret)]),
      secrets.map(() => [false, true]),
    );
    const [workspace] = await listWorkspaces({ control: reads });
    assert.deepEqual([workspace!.client_id, workspace!.client_secret], [first.client_id, masked]);
  });

  it("receives no headers and bodies of forwarded requests and dropped e-mails", async (t) => {
    const emulator = await startTestEmulator(t);
    const reads = await createTokenSender(emulator, { role: "read" });
    await emulator.router("POST", "/router/v1/mailer/inbound/blackhole", { body: "Dear Jo" });
    const target = "/anything/T0b1kQ9xYz7LmNp4?door=998877";
    await emulator.router("POST", target, { body: { otp: 998877 }, headers: { "x-otp": "998877" } });
    const listItems = async (path: string) => (await reads("GET", path)).body as { items: Record<string, unknown>[] };
    const [mail] = (await listItems("blackhole")).items;
    const [request] = (await listItems("clusters/eu-1/inbox")).items;
    const headers = request!.headers as string[][];
    assert.deepEqual(
      [mail!.body, request!.target, request!.body, [...new Set(headers.flat())]],
      [masked, "/anything/[redacted]?door=[redacted]", masked, [masked]],
    );
  });

  it("receives no token in the path or the query of a receiver's URL", async (t) => {
    const { emulator } = await startSharedEmulator(t);
    const url = "http://localhost:9/hooks/T0b1kQ9xYz7LmNp4?env=dev";
    const body = { title: "Chat", url, only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    const [reads, operates] = [
      await createTokenSender(emulator, { role: "read" }),
      await createTokenSender(emulator, { role: "operate" }),
    ];
    const listUrls = async (send: typeof reads) => {
      const webhooks = (await send("GET", "webhooks")).body as { id: number; url: string }[];
      const { id, url } = webhooks.at(-1)!;
      const { items } = (await send("GET", `deliveries?webhook=${id}`)).body as { items: { id: number }[] };
      const delivery = (await send("GET", `deliveries/${items[0]!.id}`)).body as { attempts: { url: string }[] };
      return [url, delivery.attempts[0]!.url];
    };
    const hidden = "http://localhost:9/hooks/[redacted]?env=[redacted]";
    assert.deepEqual(
      [await listUrls(operates), await listUrls(reads)],
      [
        [url, url],
        [hidden, hidden],
      ],
    );
  });

  it("receives no secrets in event streams", async (t) => {
    const { emulator } = await startSharedEmulator(t);
    const response = await emulator.control("POST", "tokens/viewer", { body: { role: "read" } });
    const headers = { authorization: `Bearer ${(response.body as { token: string }).token}` };
    const { body } = await fetch(`${emulator.controlUrl}/events`, { headers });
    const reader = body!.getReader();
    await reader.read();
    await createSentContract(emulator.api);
    let text = "";
    while (!text.includes('"event":"email"')) text += Buffer.from((await reader.read()).value!).toString();
    await reader.cancel();
    const events = text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
    const links = events.flatMap(({ event, email }) => (event === "email" ? [email.link] : []));
    assert.deepEqual([...new Set(links)], [masked]);
  });
});

describe("workspace token", () => {
  it("only reads data of its workspace", async (t) => {
    const { emulator, first, second } = await startSharedEmulator(t);
    const send = await createTokenSender(emulator, { role: "operate", workspace: second.name.toUpperCase() });
    const idsOf = async (path: string, field: string) => {
      const { body } = await send("GET", path);
      const items = (Array.isArray(body) ? body : (body as { items: object[] }).items) as Record<string, unknown>[];
      return [...new Set(items.map((item) => item[field]))];
    };
    assert.deepEqual(await idsOf("workspaces", "id"), [second.id]);
    assert.deepEqual(await idsOf("contracts", "composite_id"), ["T-2"]);
    assert.deepEqual(await idsOf("webhooks", "workspace"), [second.name]);
    assert.deepEqual(await idsOf("deliveries", "contract_id"), [2]);
    assert.deepEqual(await idsOf("emails", "contract_id"), [2]);
    assert.deepEqual(await idsOf("invitations", "contract_id"), [2]);
    const countCreated = async ({ control }: Pick<TestEmulator, "control">) => {
      const { items } = (await control("GET", "requests")).body as { items: { operation: string | null }[] };
      return items.filter(({ operation }) => operation === "contracts.create").length;
    };
    assert.deepEqual([await countCreated({ control: send }), await countCreated(emulator)], [1, 2]);

    const statusOf = async (path: string) => (await send("GET", path)).status;
    const pairs = ["contracts/T-", "deliveries/", "traces/T-", "traces/delivery:", "traces/webhook:"];
    const statusPairs = await Promise.all(
      pairs.map(async (path) => [await statusOf(`${path}1`), await statusOf(`${path}2`)]),
    );
    assert.deepEqual(
      statusPairs,
      pairs.map(() => [404, 200]),
    );
    assert.equal(await statusOf("traces/request:1"), 404);
    const clusters = (await send("GET", "clusters")).body as Record<string, unknown>[];
    const ownCluster = clusters.find(({ client_id }) => client_id === second.client_id)!;
    assert.deepEqual(
      [ownCluster.client_secret, ownCluster.cluster_key, JSON.stringify(clusters).includes(first.client_secret)],
      [second.client_secret, "[hidden: requires a token without a workspace]", false],
    );
  });

  it("does not see the requests of a revoked token with its name", async (t) => {
    const { emulator, first, second } = await startSharedEmulator(t);
    const listSent = async (send: TestEmulator["control"]) =>
      JSON.stringify((await send("GET", "requests?bodies=true&service=emulator")).body);
    const former = await createTokenSender(emulator, { role: "operate", workspace: first.name });
    await former("POST", "contracts/T-1/sign", { body: { email: "private@acme.example" } });
    assert.match(await listSent(former), /private@acme/);
    await emulator.control("DELETE", "tokens/operate-bound");
    const next = await createTokenSender(emulator, { role: "operate", workspace: second.name });
    await next("POST", "contracts/T-2/sign", { body: { email: "own@acme.example" } });
    const text = await listSent(next);
    assert.deepEqual([text.includes("private@acme"), text.includes("own@acme")], [false, true]);
  });

  it("approves devices only as a user of its workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.control("POST", "workspaces", { body: { name: "Team A" } });
    const workspaces = (await listWorkspaces(emulator)) as readonly (Workspace & { cluster_id: string })[];
    const own = workspaces.find(({ name }) => name === "Team A")!;
    const other = workspaces.find(({ cluster_id, id }) => cluster_id === own.cluster_id && id !== own.id)!;
    const foreignCluster = workspaces.find(({ cluster_id }) => cluster_id !== own.cluster_id)!.cluster_id;
    const listUsers = async ({ client_id, client_secret }: Workspace) => {
      const send = createSender(emulator.routerUrl, { "client-id": client_id, "client-secret": client_secret });
      const { body } = await send("GET", "/api/v2.1/public/auth/users/");
      return (body as { results: readonly { readonly email: string }[] }).results;
    };
    const send = await createTokenSender(emulator, { role: "operate", workspace: own.name });
    const approve = async (body: object) => {
      const device = await startDeviceAuthorization(emulator);
      const { status } = await send("POST", `device-grants/${device.user_code}`, {
        body: { status: "AUTHORIZED", ...body },
      });
      if (status !== 200) return status;
      const { access_token } = (await device.poll()).body as { access_token: string };
      const headers = { authorization: `Bearer ${access_token}` };
      const { email } = (await emulator.router("GET", "/api/v1/oauth/userinfo/", { headers })).body as never;
      return email;
    };
    const [ownUser] = await listUsers(own);
    const [otherUser] = await listUsers(other);
    assert.equal(await approve({}), ownUser!.email);
    assert.equal(await approve({ email: otherUser!.email }), 404);
    assert.equal(await approve({ cluster_id: foreignCluster }), 404);
  });

  it("only changes data of its workspace", async (t) => {
    const { emulator, second } = await startSharedEmulator(t);
    const send = await createTokenSender(emulator, { role: "operate", workspace: String(second.id) });
    const statusOf = async (method: string, path: string, body?: object) =>
      (await send(method, path, body && { body })).status;
    for (const [method, path, body] of [
      ["POST", "contracts/T-%/hold", {}],
      ["POST", "contracts/T-%/resume", {}],
      ["POST", "contracts/T-%/sign", {}],
      ["POST", "webhooks/%/disable", undefined],
      ["POST", "webhooks/%/enable", undefined],
      ["POST", "webhooks/%/resend", undefined],
      ["POST", "deliveries/%/resend", undefined],
    ] as const) {
      const both = await Promise.all(["1", "2"].map((id) => statusOf(method, path.replace("%", id), body)));
      assert.deepEqual([both[0], both[1]! < 300], [404, true], `${path}: ${both}`);
    }
    const states = (await emulator.control("GET", "contracts")).body as { items: { composite_id: string }[] };
    assert.equal(states.items.length, 2);
  });

  it("cannot use sandbox-wide operations, whatever its role", async (t) => {
    const { emulator, second } = await startSharedEmulator(t);
    const createRejection = (token: string, subject = "This operation affects", suffix = "") => ({
      status: 403,
      body: {
        error: {
          code: "workspace_token_not_allowed",
          message: `${subject} all workspaces. The token ${token} is bound to the workspace ${second.name}.`,
          hint: `Request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.${suffix}`,
        },
      },
    });
    const asks = {
      operate: await createTokenSender(emulator, { role: "operate", workspace: second.name }),
      admin: await createTokenSender(emulator, { role: "admin", workspace: second.name }),
    };
    for (const [role, send] of Object.entries(asks)) {
      for (const [method, path, body] of [
        ["POST", "clock/advance", { by: "PT1S" }],
        ["PUT", "clock", { mode: "auto" }],
        ["POST", "faults", { direction: "incoming", status: 500 }],
        ["GET", "snapshots", undefined],
        ["PUT", "snapshots/mine", undefined],
        ["POST", "sessions/codes", undefined],
        ["GET", "clusters/eu-1/inbox", undefined],
        ["GET", "metrics", undefined],
      ] as const) {
        assert.deepEqual(
          pickStatusAndBody(await send(method, path, body && { body })),
          path === "sessions/codes"
            ? createRejection(
                `${role}-bound`,
                "The console shows",
                " With this one, use commands such as `svc emulator contracts` and `svc emulator requests`.",
              )
            : createRejection(`${role}-bound`),
          path,
        );
      }
      assert.equal((await send("GET", "clock")).status, 200);
    }
    assert.deepEqual(pickStatusAndBody(await asks.admin("POST", "reset")), createRejection("admin-bound"));
    assert.deepEqual(pickStatusAndBody(await asks.admin("GET", "tokens")), createRejection("admin-bound"));
  });

  it("becomes invalid when its workspace is removed or its number is reused", async (t) => {
    const emulator = await startTestEmulator(t);
    const team = (await emulator.control("POST", "workspaces", { body: { name: "Team A" } })).body as Workspace;
    const send = await createTokenSender(emulator, { role: "read", workspace: "Team A" });
    assert.equal((await send("GET", "contracts")).status, 200);
    await emulator.control("POST", "reset");
    const otherWorkspace = (await emulator.control("POST", "workspaces", { body: { name: "Team B" } }))
      .body as Workspace;
    assert.deepEqual([otherWorkspace.id, (await send("GET", "contracts")).status], [team.id, 401]);
    assert.deepEqual(
      pickStatusAndBody(await emulator.control("POST", "tokens/x", { body: { role: "read", workspace: "Team A" } }))
        .status,
      404,
    );
  });

  it("sees only the scheduled entries of its workspace, and no size of shared buffers", async (t) => {
    const emulator = await startTestEmulator(t);
    const [first, idle] = (await listWorkspaces(emulator)) as [Workspace, Workspace];
    const body = { title: "Down", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    const shared = { now: "2031-01-02T03:04:06.000Z", mode: "manual", speed: 1 };
    const busy = { ...shared, next_due: "2031-01-02T03:09:05.000Z", pending: 1 };
    const senders = [emulator.control, await createBoundSender(emulator, first.name)];
    for (const send of senders) assert.deepEqual((await send("GET", "clock")).body, busy);
    const send = await createBoundSender(emulator, idle.name);
    assert.deepEqual((await send("GET", "clock")).body, { ...shared, next_due: null, pending: 0 });
    assert.equal((await send("GET", "usage")).status, 403);
  });

  it("ends for good when the state is replaced by one without its workspace", async (t) => {
    for (const options of [{}, { deterministic: true }]) {
      const emulator = await startTestEmulator(t, options);
      const [, second] = (await listWorkspaces(emulator)) as [Workspace, Workspace];
      await emulator.control("PUT", "snapshots/early");
      const createTeam = () => emulator.control("POST", "workspaces", { body: { name: "Team A" } });
      await createTeam();
      await emulator.control("PUT", "snapshots/late");
      const send = await createTokenSender(emulator, { role: "operate", workspace: "Team A" });
      const remaining = await createTokenSender(emulator, { role: "read", workspace: second.name });
      const restore = (name: string) => emulator.control("POST", `snapshots/${name}/restore`);
      const listNames = async () =>
        ((await emulator.control("GET", "tokens")).body as { name: string }[]).map(({ name }) => name);
      const getStatus = async () => (await send("GET", "contracts")).status;

      assert.equal((await restore("late")).status, 200);
      assert.deepEqual([await getStatus(), await listNames()], [200, ["operate-bound", "read-bound"]]);
      assert.equal((await restore("early")).status, 200);
      assert.deepEqual([await getStatus(), await listNames()], [401, ["read-bound"]]);
      assert.equal((await createTeam()).status, 201);
      assert.deepEqual([await getStatus(), (await remaining("GET", "contracts")).status], [401, 200]);
      assert.equal((await restore("late")).status, 200);
      assert.equal(await getStatus(), 401);
      await emulator.control("POST", "reset");
      assert.deepEqual([await listNames(), (await remaining("GET", "contracts")).status], [["read-bound"], 200]);
    }
  });

  it("is not bound to another workspace of an imported state", async (t) => {
    const [emulator, other] = [await startTestEmulator(t), await startTestEmulator(t)];
    for (const { control } of [emulator, other]) await control("POST", "workspaces", { body: { name: "Team A" } });
    const send = await createTokenSender(emulator, { role: "read", workspace: "Team A" });
    const body = (await other.control("GET", "state")).body;
    assert.equal((await emulator.control("PUT", "state", { body })).status, 200);
    assert.deepEqual(
      [(await send("GET", "contracts")).status, (await emulator.control("GET", "tokens")).body],
      [401, []],
    );
  });

  it("is deleted together with its workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const team = (await emulator.control("POST", "workspaces", { body: { name: "Team A" } })).body as Workspace;
    await createTokenSender(emulator, { role: "read", workspace: "Team A" });
    await createDraftContract(emulator.api);
    assert.equal((await emulator.control("DELETE", `workspaces/${team.id}`)).status, 200);
    assert.deepEqual((await emulator.control("GET", "tokens")).body, []);
  });
});
