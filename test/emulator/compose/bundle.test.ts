import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PDFDocument } from "@cantoo/pdf-lib";
import { root } from "../../structure/repository.ts";
import { acme, createDraftContract, createFieldErrors, createPdf, requireContract } from "../../support/contracts.ts";
import { pickStatusAndBody } from "../../support/emulator.ts";
import { startEmulatorProcess } from "../../support/emulator-process.ts";

describe("bundled emulator", () => {
  it("creates PDFs and reads them with its parser", async (t) => {
    const { api } = await startEmulatorProcess(t, {});
    const contract = await createDraftContract(api);
    const { body } = await api("POST", `/api/v2.1/public/contracts/${contract.id}/download_link`);
    const document = Buffer.from(await (await fetch((body as { url: string }).url)).arrayBuffer());
    assert.equal((await PDFDocument.load(document)).getTitle(), "NDA with Acme");

    const content = await api("GET", `/api/v2.1/public/contracts/${contract.id}/content`);
    assert.match((content.body as { content: string }).content, /^NDA with Acme\n[\s\S]*Jo Doe: not signed$/);

    const upload = (file: Buffer) =>
      api("POST", "/api/v2.1/public/contracts/executed_contracts/", {
        body: {
          contract_name: "Old lease",
          contract_type_id: 301,
          file_name: "lease.pdf",
          file_base64: file.toString("base64"),
          creator_organization_entity_id: 401,
          counterparty_organization_name: acme.organization_name,
        },
      });
    assert.equal((await requireContract(upload(document))).id, "H-2");
    assert.equal((await requireContract(upload(await createPdf(3)))).id, "H-3");
    // Its structure is complete, and only the parser detects that it has no page.
    const empty = Buffer.from(
      (await createPdf(1, { useObjectStreams: false })).toString("latin1").replace("/Count 1", "/Count 0"),
      "latin1",
    );
    assert.deepEqual(
      pickStatusAndBody(await upload(empty)),
      createFieldErrors({ file_base64: ["Input should be a valid PDF: it has no pages"] }),
    );
  });

  it("delivers to a receiver with a certificate that the system trusts", async (t) => {
    const tls = (name: string) => join(root, "fixtures/tls", name);
    const received: string[] = [];
    const server = createServer(
      { key: await readFile(tls("self-signed.key.pem")), cert: await readFile(tls("self-signed.cert.pem")) },
      (request, response) => {
        received.push(String(request.headers["x-svc-webhook-content-hash"]));
        response.writeHead(204).end();
      },
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });

    const { api, control } = await startEmulatorProcess(
      t,
      { clock: { mode: "manual" } },
      { NODE_EXTRA_CA_CERTS: tls("self-signed.cert.pem") },
    );
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
    const body = { title: "test", url, only_for_activities: ["CONTRACT_CREATED"] };
    assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body })).status, 201);
    await createDraftContract(api);
    await control("POST", "clock/advance", { body: { by: "PT1S" } });
    const { body: log } = await control("GET", "deliveries");
    const [{ outcome, attempts }] = (log as { items: [{ outcome: string; attempts: { status: number }[] }] }).items;
    assert.deepEqual([outcome, attempts.map(({ status }) => status)], ["delivered", [204]]);
    assert.match(received.join(), /^[0-9a-f]{128}$/);
  });
});
