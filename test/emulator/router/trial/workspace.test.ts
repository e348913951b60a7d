import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { verifyContentHash } from "../../../../src/schemes/webhook.ts";
import { acme, listRecipients } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { trialSignupFields } from "../../../support/trial.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const person = { email: "zoe@newco.example", captcha: "yes" };
const form = { ...trialSignupFields, cluster_location: "us" };

interface Shown {
  readonly id: number;
  readonly hmac_key: string;
  readonly intake_workflows: readonly { readonly id: number; readonly title: string }[];
  readonly [key: string]: unknown;
}

/** Creates a workspace by a trial, and returns it in the control plane's format. */
async function completeTrial({ router, control }: TestEmulator, overrides: object = {}): Promise<Shown> {
  const pending = await router("POST", "/router/v1/trial/signup", { body: person });
  const { token } = pending.body as { token: string };
  const response = await router("POST", "/router/v1/trial/signup/complete", { body: { ...form, ...overrides, token } });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  const { workspace_id } = response.body as { workspace_id: number };
  const { body } = await control("GET", "workspaces");
  return (body as Shown[]).find(({ id }) => id === workspace_id)!;
}

interface NamedRow {
  readonly id: number;
  readonly name: string;
}

describe("a trial workspace", () => {
  it("supports a contract from upload to execution without further setup", async (t) => {
    const emulator = await startTestEmulator(t);
    const workspace = await completeTrial(emulator);
    const api = await createWorkspaceApi(emulator, workspace.id);
    const receiver = await startReceiver(t);
    const activities = ["CONTRACT_CREATED", "CONTRACT_EXECUTED"];
    const subscription = { title: "all", url: `${receiver.url}/hook`, only_for_activities: activities };
    assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body: subscription })).status, 201);

    const uploads = await api("POST", "/api/v2.1/public/workspace/files/uploads/", {
      body: { files: [{ filename: "brief.txt", content_type: "text/plain" }] },
    });
    const [file] = (uploads.body as { files: { file_id: string; upload_url: string }[] }).files;
    const headers = { "content-type": "text/plain" };
    assert.equal((await fetch(file!.upload_url, { method: "PUT", headers, body: "hello" })).status, 200);

    const [workflow, ...otherWorkflows] = workspace.intake_workflows;
    assert.deepEqual([workflow?.title, otherWorkflows], ["Legal help", []]);
    const intake = await api("POST", "/api/v1/public/legal_intake/", {
      body: { title: "Please draft", workflow_id: workflow!.id, file_ids: [file!.file_id] },
    });
    assert.equal(intake.status, 201, JSON.stringify(intake.body));

    const templates = (await api("GET", "/api/v2.1/public/templates/")).body as { items: NamedRow[] };
    const response = await api("POST", "/api/v2.1/public/contracts/", {
      body: {
        contract_template_id: templates.items.find(({ name }) => name === "Mutual NDA")!.id,
        contract_name: "NDA with Acme",
        contract_data: {},
        counter_party_details: [acme],
      },
    });
    assert.equal(response.status, 201, JSON.stringify(response.body));
    const { id } = response.body as { id: string };
    const sent = await api("POST", `/api/v2.1/public/contracts/${id}/send_to_counterparties`, { body: {} });
    assert.deepEqual(pickStatusAndBody(sent), { status: 200, body: {} });
    assert.deepEqual(await listRecipients(api, { id, number: 1 }), ["jo@acme.example IN_PROGRESS"]);
    assert.equal(
      (await emulator.control("POST", `contracts/${id}/sign`, { body: { email: "jo@acme.example" } })).status,
      200,
    );
    assert.deepEqual((await api("GET", `/api/v2.1/public/contracts/${id}/status`)).body, {
      contract_status: "EXECUTED",
      contract_name: "NDA with Acme",
    });

    await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(
      receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { activity: string }).activity),
      activities,
    );
    for (const { headers: signed, body } of receiver.received) {
      const contentHash = String(signed["x-svc-webhook-content-hash"]);
      assert.deepEqual(verifyContentHash(workspace.hmac_key, body, contentHash), { ok: true });
    }
  });

  it("contains the standard set with separate rows, whatever the seed contains", async (t) => {
    const names = async (emulator: TestEmulator, id: number) => {
      const api = await createWorkspaceApi(emulator, id);
      const templates = (await api("GET", "/api/v2.1/public/templates/")).body as { items: NamedRow[] };
      const types = (await api("GET", "/api/v2.1/public/contract_types/")).body as NamedRow[];
      return [templates.items, types].map((rows) => rows.map(({ name }) => name).sort());
    };
    const demo = await startTestEmulator(t);
    const first = await names(demo, 1);
    assert.deepEqual(await names(demo, (await completeTrial(demo)).id), first);
    assert.deepEqual(await names(demo, 1), first);
    const bare = await startTestEmulator(t, { seed: { clusters: [{ id: "us-1", label: "us" }] } });
    assert.deepEqual(await names(bare, (await completeTrial(bare)).id), first);
  });

  it("invites each address once, and never its owner", async (t) => {
    const emulator = await startTestEmulator(t);
    const emails = ["ann@newco.example", " ANN@newco.example", "Zoe@newco.example", "bob@newco.example"];
    const invited_users = emails.map((email) => ({ email, first_name: email }));
    const { id, creator_tokens } = await completeTrial(emulator, { invited_users });
    const api = await createWorkspaceApi(emulator, id);
    const { body } = await api("GET", "/api/v2.1/public/auth/users/");
    assert.deepEqual(
      (body as { results: { email: string; is_active: boolean }[] }).results.map((one) => [one.email, one.is_active]),
      [
        ["zoe@newco.example", true],
        ["ann@newco.example", false],
        ["bob@newco.example", false],
      ],
    );
    assert.equal((creator_tokens as string[]).length, 2);
    const headers = { "user-email": "ann@newco.example" };
    assert.equal((await api("GET", "/api/v2.1/public/contracts/", { headers })).status, 403);
  });
});
