import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { request } from "../../support/contracts.ts";
import { emulator, plain, sender, type TestEmulator } from "../../support/emulator.ts";
import { receiver } from "../../support/receiver.ts";
import { assertRefused } from "../../support/refused.ts";

interface Workspace {
  readonly id: number;
  readonly cluster_id: string;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly hmac_key: string;
}

/** A team with a workspace of its own, and calls with its key. */
async function team(world: TestEmulator, body: object) {
  const { status, body: made } = await world.ask("POST", "workspaces", { body });
  assert.equal(status, 201);
  const workspace = made as Workspace;
  const { url } = world.clusters.find(({ id }) => id === workspace.cluster_id)!;
  const key = { "client-id": workspace.client_id, "client-secret": workspace.client_secret };
  const api = sender(`${url}/api/v2.1/public`, key);
  const templates = async () => ((await api("GET", "/templates/")).body as { items: { id: number }[] }).items;
  return { workspace, api, templates, key };
}

describe("POST /_emulator/workspaces", () => {
  it("gives a team keys, templates and webhooks at once, by the router's address as well", async (t) => {
    const world = await emulator(t);
    const { workspace, api, templates, key } = await team(world, { name: "Team A" });
    assert.deepEqual([workspace.name, workspace.cluster_id], ["Team A", "eu-1"]);
    const [first] = await templates();
    const inbox = await receiver(t);
    const hook = { title: "Ours", url: inbox.url, only_for_activities: ["CONTRACT_CREATED"] };
    assert.equal((await api("POST", "/webhooks/", { body: hook })).status, 201);
    const router = sender(world.routerUrl, key);
    const created = await router("POST", "/api/v2.1/public/contracts/", {
      body: request({ contract_template_id: first!.id }),
    });
    assert.equal(created.status, 201);
    await world.ask("POST", "clock/advance", { body: { until_idle: true } });
    assert.equal(inbox.received.length, 1);

    const other = await world.api("GET", "/api/v2.1/public/contracts/list/");
    assert.equal(JSON.stringify(other.body).includes("NDA with Acme"), false);
    const listed = (await world.ask("GET", "workspaces")).body as Workspace[];
    assert.deepEqual(
      listed.find(({ id }) => id === workspace.id),
      workspace,
    );
  });

  it("leaves templates out where none are wanted, and goes to the cluster that is named", async (t) => {
    const world = await emulator(t);
    const { workspace, templates } = await team(world, { name: "Bare", template: "empty", cluster_id: "us-1" });
    assert.deepEqual([workspace.cluster_id, await templates()], ["us-1", []]);
  });

  it("refuses a name that another workspace has, also of another cluster, and says which that is", async (t) => {
    const world = await emulator(t);
    const { workspace } = await team(world, { name: "Team A" });
    const again = () => world.ask("POST", "workspaces", { body: { name: "team a", cluster_id: "us-1" } });
    await assertRefused(world, again, {
      status: 409,
      body: {
        error: {
          code: "workspace_there",
          message: `There is a workspace Team A already: ${workspace.id}, of eu-1.`,
          hint: "Choose another name. `svc emulator workspaces` lists them all.",
        },
      },
    });
  });

  it("refuses a cluster that is not there, says which are, and changes nothing", async (t) => {
    const world = await emulator(t);
    const { status, body } = await world.ask("POST", "workspaces", { body: { name: "x", cluster_id: "mars" } });
    const { message } = (body as { error: { message: string } }).error;
    const blank = plain(await world.ask("POST", "workspaces", { body: { name: "" } }));
    assert.deepEqual(
      [status, message, blank.status],
      [404, "The emulator has no cluster mars; it has eu-1, us-1.", 400],
    );
    assert.equal(((await world.ask("GET", "workspaces")).body as unknown[]).length, 3);
  });

  it("refuses a cluster that is somebody else's", async (t) => {
    const url = "http://127.0.0.1:9";
    const world = await emulator(t, { seed: { clusters: [{ id: "mars", label: "Mars", external_url: url }] } });
    await assertRefused(world, () => world.ask("POST", "workspaces", { body: { name: "x", cluster_id: "mars" } }), {
      status: 409,
      body: {
        error: {
          code: "external_cluster",
          message: `The cluster mars is external, at ${url}: what it holds, and what reaches it, is not here.`,
        },
      },
    });
  });
});

describe("a team whose receivers hang", () => {
  it("does not hold up what another team tells", async (t) => {
    const world = await emulator(t, { clock: { mode: "real" }, graceMs: 0 });
    const [loud, quiet] = [await team(world, { name: "Loud" }), await team(world, { name: "Quiet" })];
    const create = async ({ api, templates }: typeof loud) => {
      const [first] = await templates();
      const { status } = await api("POST", "/contracts/", { body: request({ contract_template_id: first!.id }) });
      assert.equal(status, 201);
    };
    const subscribe = (api: typeof loud.api, url: string) =>
      api("POST", "/webhooks/", { body: { title: "x", url, only_for_activities: ["CONTRACT_CREATED"] } });
    const silent = await receiver(t);
    const full = new Promise<void>((resolve) => silent.answer(() => silent.received.length === 64 && resolve()));
    for (let i = 0; i < 100; i += 1) await subscribe(loud.api, silent.url);
    await create(loud);
    await full;
    const inbox = await receiver(t);
    const told = new Promise<void>((resolve) =>
      inbox.answer((_, response) => {
        response.writeHead(200).end();
        resolve();
      }),
    );
    await subscribe(quiet.api, inbox.url);
    await create(quiet);
    await told;
    assert.deepEqual([silent.received.length, inbox.received.length], [64, 1]);
  });
});
