import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { verifyContentHash } from "../../src/schemes/webhook.ts";
import { pickStatusAndBody, startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";

describe("contract journey", () => {
  it("completes from an uploaded file to a signed contract and signed webhooks", async (t) => {
    const { api, control, clusters } = await startTestEmulator(t);
    const receiver = await startReceiver(t);
    await api("POST", "/api/v2.1/public/webhooks/", {
      body: {
        title: "all",
        url: `${receiver.url}/hook`,
        only_for_activities: ["CONTRACT_CREATED", "CONTRACT_EXECUTED"],
      },
    });

    const uploads = await api("POST", "/api/v2.1/public/workspace/files/uploads/", {
      body: { files: [{ filename: "brief.txt", content_type: "text/plain" }] },
    });
    const [file] = (uploads.body as { files: { file_id: string; upload_url: string }[] }).files;
    const response = await fetch(file!.upload_url, {
      method: "PUT",
      headers: { "content-type": "text/plain" },
      body: "hello",
    });
    assert.equal(response.status, 200);

    const intake = await api("POST", "/api/v1/public/legal_intake/", {
      body: { title: "Please draft", workflow_id: 201, file_ids: [file!.file_id] },
    });
    assert.equal(intake.status, 201);
    assert.deepEqual((intake.body as { attachments: unknown }).attachments, [
      { name: "brief.txt", uuid: file!.file_id },
    ]);

    const created = await api("POST", "/api/v2.1/public/contracts/", {
      body: {
        contract_template_id: 101,
        contract_name: "NDA with Initech",
        contract_data: {},
        counter_party_details: [
          {
            is_individual: false,
            organization_type: "Corporation",
            organization_name: "Initech",
            poc_details: { first_name: "Bill", last_name: "L", email: "bill@initech.example" },
          },
        ],
      },
    });
    assert.equal(created.status, 201);
    const id = (created.body as { id: string }).id;

    const sent = await api("POST", `/api/v2.1/public/contracts/${id}/send_to_counterparties`, { body: {} });
    assert.deepEqual(pickStatusAndBody(sent), { status: 200, body: {} });
    const waiting = await api("GET", `/api/v2.1/public/contracts/${id}/status`);
    assert.deepEqual(pickStatusAndBody(waiting), {
      status: 200,
      body: { contract_status: "SIGN", contract_name: "NDA with Initech" },
    });

    const signed = await control("POST", `/contracts/${id}/sign`, { body: { email: "bill@initech.example" } });
    assert.equal(signed.status, 200);
    const executed = await api("GET", `/api/v2.1/public/contracts/${id}/status`);
    assert.deepEqual(executed.body, { contract_status: "EXECUTED", contract_name: "NDA with Initech" });

    await control("POST", "/clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(
      receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { activity: string }).activity),
      ["CONTRACT_CREATED", "CONTRACT_EXECUTED"],
    );
    for (const { headers, body } of receiver.received) {
      const verdict = verifyContentHash(clusters[0]!.hmacKey!, body, String(headers["x-svc-webhook-content-hash"]));
      assert.deepEqual(verdict, { ok: true });
    }
  });
});
