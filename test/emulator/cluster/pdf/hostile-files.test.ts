import assert from "node:assert/strict";
import { it } from "node:test";
import { createDraftContract } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import * as hostile from "../../../support/pdf/hostile-pdfs.ts";

it("recursive and inflating PDFs have no text and do not block other requests", async (t) => {
  const emulator = await startTestEmulator(t);
  const { id, number } = await createDraftContract(emulator.api);
  const files = [
    hostile.createSelfDrawingPdf(),
    hostile.createMutuallyDrawingPdf(),
    hostile.createInflatingPdf(2 ** 30),
  ];
  for (const file of files) {
    const body = { document_name: "v.pdf", document_base_64: file.toString("base64") };
    assert.equal(
      (await emulator.api("POST", `/api/v2.1/public/contracts/${number}/contract_version/`, { body })).status,
      201,
    );
    const before = await emulator.control("GET", "state");

    let isRead = false;
    const reading = emulator.api("GET", `/api/v2.1/public/contracts/${id}/content`).finally(() => {
      isRead = true;
    });
    for (let repetition = 0; repetition < 10; repetition += 1) {
      assert.equal((await emulator.api("GET", `/api/v2.1/public/contracts/${id}/status`)).status, 200);
    }
    assert.equal(isRead, false, "ten other requests were answered while it was read");
    const expected = { contract_id: 1, content_format: "text", extraction_status: "failed" };
    assert.deepEqual(pickStatusAndBody(await reading), { status: 200, body: expected });
    assert.deepEqual((await emulator.control("GET", "state")).body, before.body);
  }
  const { body } = await emulator.control("GET", "requests?operation=documents.content");
  const { items } = body as { items: { findings: { code: string; detail: string }[] }[] };
  const findings = items.flatMap(({ findings }) => findings.map(({ code, detail }) => `${code}: ${detail}`)).sort();
  assert.equal(findings.length, 3, findings.join("\n"));
  for (const line of findings)
    assert.match(line, /^unreadable-pdf: (it is nested too deeply|reading it takes more than .*)$/);
});
