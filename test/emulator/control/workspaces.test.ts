import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as z from "zod";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { listOwnedCollections } from "../../../emulator/control/state/remove-workspace.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createContractRequest } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";
import { assertRejected } from "../../support/rejections.ts";

interface Workspace {
  readonly id: number;
  readonly cluster_id: string;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly hmac_key: string;
}

/** Creates a workspace, and returns functions that send requests with its API key. */
async function createTeam(emulator: TestEmulator, body: object) {
  const { status, body: workspaceBody } = await emulator.control("POST", "workspaces", { body });
  assert.equal(status, 201);
  const workspace = workspaceBody as Workspace;
  const { url } = emulator.clusters.find(({ id }) => id === workspace.cluster_id)!;
  const key = { "client-id": workspace.client_id, "client-secret": workspace.client_secret };
  const api = createSender(`${url}/api/v2.1/public`, key);
  const templates = async () => ((await api("GET", "/templates/")).body as { items: { id: number }[] }).items;
  return { workspace, api, templates, key };
}

describe("POST /_emulator/workspaces", () => {
  it("creates a workspace with keys, templates and webhooks, also through the router", async (t) => {
    const emulator = await startTestEmulator(t);
    const { workspace, api, templates, key } = await createTeam(emulator, { name: "Team A" });
    assert.deepEqual([workspace.name, workspace.cluster_id], ["Team A", "eu-1"]);
    const [first] = await templates();
    const inbox = await startReceiver(t);
    const hook = { title: "Ours", url: inbox.url, only_for_activities: ["CONTRACT_CREATED"] };
    assert.equal((await api("POST", "/webhooks/", { body: hook })).status, 201);
    const router = createSender(emulator.routerUrl, key);
    const response = await router("POST", "/api/v2.1/public/contracts/", {
      body: createContractRequest({ contract_template_id: first!.id }),
    });
    assert.equal(response.status, 201);
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    assert.equal(inbox.received.length, 1);

    const otherResponse = await emulator.api("GET", "/api/v2.1/public/contracts/list/");
    assert.equal(JSON.stringify(otherResponse.body).includes("NDA with Acme"), false);
    const workspaceList = (await emulator.control("GET", "workspaces")).body as Workspace[];
    assert.deepEqual(
      workspaceList.find(({ id }) => id === workspace.id),
      workspace,
    );
  });

  it("omits templates on request, and uses the named cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const { workspace, templates } = await createTeam(emulator, {
      name: "Bare",
      template: "empty",
      cluster_id: "us-1",
    });
    assert.deepEqual([workspace.cluster_id, await templates()], ["us-1", []]);
  });

  it("rejects a name in use in any cluster, and names its workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const { workspace } = await createTeam(emulator, { name: "Team A" });
    const again = () => emulator.control("POST", "workspaces", { body: { name: "team a", cluster_id: "us-1" } });
    await assertRejected(emulator, again, {
      status: 409,
      body: {
        error: {
          code: "workspace_exists",
          message: `Workspace Team A already exists (${workspace.id} of eu-1).`,
          hint: "Choose another name. `svc emulator workspaces` lists all workspaces.",
        },
      },
    });
  });

  it("rejects an unknown cluster, lists the known ones, and changes nothing", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status, body } = await emulator.control("POST", "workspaces", { body: { name: "x", cluster_id: "mars" } });
    const { message } = (body as { error: { message: string } }).error;
    const blank = pickStatusAndBody(await emulator.control("POST", "workspaces", { body: { name: "" } }));
    assert.deepEqual([status, message, blank.status], [404, "Cluster mars not found. Known: eu-1, us-1.", 400]);
    assert.equal(((await emulator.control("GET", "workspaces")).body as unknown[]).length, 3);
  });

  it("rejects an external cluster", async (t) => {
    const url = "http://127.0.0.1:9";
    const emulator = await startTestEmulator(t, {
      seed: { clusters: [{ id: "mars", label: "Mars", external_url: url }] },
    });
    await assertRejected(
      emulator,
      () => emulator.control("POST", "workspaces", { body: { name: "x", cluster_id: "mars" } }),
      {
        status: 409,
        body: {
          error: {
            code: "external_cluster",
            message: `Cluster mars is external (${url}). The emulator does not store its data or requests.`,
          },
        },
      },
    );
  });
});

interface ExportedState {
  readonly rows: Readonly<Record<string, readonly object[]>>;
  readonly mappings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const exportState = async ({ control }: TestEmulator) => (await control("GET", "state")).body as ExportedState;

/** Creates data of every kind in a workspace. */
async function createBusyTeam(emulator: TestEmulator, inbox: string) {
  const team = await createTeam(emulator, { name: "Team A" });
  const { api, templates } = team;
  const hook = { title: "Ours", url: inbox, only_for_activities: ["CONTRACT_CREATED"] };
  assert.equal((await api("POST", "/webhooks/", { body: hook })).status, 201);
  const [first] = await templates();
  const response = await api("POST", "/contracts/", {
    body: createContractRequest({ contract_template_id: first!.id }),
  });
  assert.equal(response.status, 201);
  const { id } = response.body as { id: string };
  const number = id.replace(/\D/g, "");
  assert.equal((await api("POST", `/contracts/${number}/comments/`, { body: { comment: "ours" } })).status, 201);
  assert.equal((await api("POST", `/contracts/${id}/send_to_counterparties`)).status, 200);
  // The cluster sends its reports to the router. The e-mails are not delivered yet.
  await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
  return team;
}

describe("DELETE /_emulator/workspaces/{workspace_id}", () => {
  it("removes all data of a workspace without changing other workspaces", async (t) => {
    const emulator = await startTestEmulator(t);
    const inbox = await startReceiver(t);
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    const before = await exportState(emulator);
    const { workspace, api } = await createBusyTeam(emulator, inbox.url);
    const { status, body } = await emulator.control("DELETE", `workspaces/${workspace.id}`);
    const counts = { contracts: 1, webhooks: 1, deliveries: 1 };
    assert.deepEqual([status, body], [200, { id: workspace.id, cluster_id: "eu-1", name: "Team A", ...counts }]);
    assert.equal((await api("GET", "/templates/")).status, 401);
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    const after = await exportState(emulator);
    const selectOwnRows = (state: ExportedState) => {
      // The router retains signatories, because no cluster reports their removal.
      const { causes, clock, signatories, ...rows } = state.rows;
      return { rows, mappings: state.mappings };
    };
    assert.deepEqual(selectOwnRows(after), selectOwnRows(before));
  });

  it("removes the devices that users of the workspace approved", async (t) => {
    const emulator = await startTestEmulator(t);
    const { workspace } = await createTeam(emulator, { name: "Team A" });
    const users = (await exportState(emulator)).rows.users as readonly { workspace_id: number; email: string }[];
    const { email } = users.find(({ workspace_id }) => workspace_id === workspace.id)!;
    const waiting = await startDeviceAuthorization(emulator);
    const body = { status: "AUTHORIZED", email };
    assert.equal((await emulator.control("POST", `device-grants/${waiting.user_code}`, { body })).status, 200);
    assert.equal((await emulator.control("DELETE", `workspaces/${workspace.id}`)).status, 200);
    const { status, body: errorBody } = await waiting.poll();
    assert.deepEqual([status, (errorBody as { error: string }).error], [400, "invalid_grant"]);
  });

  it("revokes the access tokens of its users", async (t) => {
    const emulator = await startTestEmulator(t);
    const { workspace } = await createTeam(emulator, { name: "Team A" });
    const users = (await exportState(emulator)).rows.users as readonly { workspace_id: number; email: string }[];
    const { email } = users.find(({ workspace_id }) => workspace_id === workspace.id)!;
    const waiting = await startDeviceAuthorization(emulator);
    const body = { status: "AUTHORIZED", email };
    await emulator.control("POST", `device-grants/${waiting.user_code}`, { body });
    const tokens = (await waiting.poll()).body as { access_token: string; refresh_token: string };
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const userinfo = async () => (await emulator.router("GET", "/api/v1/oauth/userinfo/", { headers })).status;
    assert.equal(await userinfo(), 200);
    assert.equal((await emulator.control("DELETE", `workspaces/${workspace.id}`)).status, 200);
    await createTeam(emulator, { name: "Team B" });
    const renewed = await emulator.router("POST", "/api/v1/oauth/token/", {
      body: `grant_type=refresh_token&client_id=demo-cli&refresh_token=${tokens.refresh_token}`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.deepEqual([await userinfo(), renewed.status], [401, 400]);
  });

  it("can be undone by rewinding one step", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    const inbox = await startReceiver(t);
    const { workspace, api } = await createBusyTeam(emulator, inbox.url);
    const { rows, mappings } = await exportState(emulator);
    assert.equal((await emulator.control("DELETE", `workspaces/${workspace.id}`)).status, 200);
    assert.equal((await emulator.control("POST", "rewind", { body: { steps: 1 } })).status, 200);
    const back = await exportState(emulator);
    assert.deepEqual([back.rows.contracts, back.mappings], [rows.contracts, mappings]);
    assert.equal((await api("GET", "/templates/")).status, 200);
  });

  it("rejects an unknown workspace and the last workspace of a cluster", async (t) => {
    const emulator = await startTestEmulator(t);
    const all = (await emulator.control("GET", "workspaces")).body as Workspace[];
    const [last, ...otherWorkspaces] = all.filter(({ cluster_id }) => cluster_id === "eu-1").reverse();
    for (const { id } of otherWorkspaces)
      assert.equal((await emulator.control("DELETE", `workspaces/${id}`)).status, 200);
    await assertRejected(emulator, () => emulator.control("DELETE", `workspaces/${last!.id}`), {
      status: 409,
      body: {
        error: {
          code: "last_workspace",
          message: `Cannot remove ${last!.name}: it is the only workspace of eu-1.`,
          hint: "Create another one first with `svc emulator workspaces create`.",
        },
      },
    });
    await assertRejected(emulator, () => emulator.control("DELETE", "workspaces/4711"), {
      status: 404,
      body: {
        error: {
          code: "no_such_workspace",
          message: "Workspace 4711 not found.",
          hint: "List them with `svc emulator workspaces`.",
        },
      },
    });
  });

  it("covers every collection that can name a workspace, contract or user", () => {
    const expected = collections.flatMap((collection) => {
      if (collection.kind === "mapping") return [];
      const { properties = {} } = z.toJSONSchema(collection.schema, { unrepresentable: "any" });
      // Rows that name their workspace are found by its ID.
      const field = ["workspace_id", "contract_id", "user_id"].find((name) => name in properties);
      return field ? [[collection.name, field]] : [];
    });
    const owned = listOwnedCollections(collections).map(({ collection, field }) => [collection.name, field]);
    assert.deepEqual(owned, expected);
  });
});

describe("workspace with unresponsive receivers", () => {
  it("does not delay other workspaces", async (t) => {
    const emulator = await startTestEmulator(t, { clock: { mode: "real" }, graceMs: 0 });
    const [loud, quiet] = [await createTeam(emulator, { name: "Loud" }), await createTeam(emulator, { name: "Quiet" })];
    const create = async ({ api, templates }: typeof loud) => {
      const [first] = await templates();
      const { status } = await api("POST", "/contracts/", {
        body: createContractRequest({ contract_template_id: first!.id }),
      });
      assert.equal(status, 201);
    };
    const subscribe = (api: typeof loud.api, url: string) =>
      api("POST", "/webhooks/", { body: { title: "x", url, only_for_activities: ["CONTRACT_CREATED"] } });
    const silent = await startReceiver(t);
    const full = new Promise<void>((resolve) => silent.respond(() => silent.received.length === 64 && resolve()));
    for (let i = 0; i < 100; i += 1) await subscribe(loud.api, silent.url);
    await create(loud);
    await full;
    const inbox = await startReceiver(t);
    const received = new Promise<void>((resolve) =>
      inbox.respond((_, response) => {
        response.writeHead(200).end();
        resolve();
      }),
    );
    await subscribe(quiet.api, inbox.url);
    await create(quiet);
    await received;
    assert.deepEqual([silent.received.length, inbox.received.length], [64, 1]);
  });
});

describe("GET /_emulator/workspaces/{id}/routing", () => {
  it("returns the routing data of one workspace, and rejects an unknown one", async (t) => {
    const emulator = await startTestEmulator(t);
    const { status, body } = await emulator.control("GET", "workspaces/1/routing");
    const { cluster_emails, cluster_clients, ...routing } = body as Record<string, string[]>;
    assert.equal(status, 200);
    assert.deepEqual(cluster_clients, [emulator.clusters[0]!.clientId]);
    assert.ok(cluster_emails!.length > 0);
    assert.deepEqual(routing, {
      id: 1,
      cluster_id: "eu-1",
      name: "Northwind Legal",
      creator_tokens: ["creator-northwind"],
      counterparty_tokens: ["counterparty-northwind"],
      chat_a_teams: ["T-NORTHWIND"],
      external_integrations: ["CHAT_B:tenant-northwind"],
      user_codes: [],
      signatories: [],
    });
    const response = await emulator.control("GET", "workspaces/99/routing");
    assert.deepEqual(pickStatusAndBody(response), {
      status: 404,
      body: {
        error: {
          code: "no_such_workspace",
          message: "Workspace 99 not found.",
          hint: "List them with `svc emulator workspaces`.",
        },
      },
    });
  });
});
