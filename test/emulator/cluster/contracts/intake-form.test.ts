import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ContractIds,
  createDomainError,
  createDraftContract,
  createFieldErrors,
  createUploadRequest,
  initialTime,
  requireContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";

const uploadContract = async (
  { api }: TestEmulator,
  route: "review" | "sign",
  overrides: object = {},
): Promise<ContractIds> =>
  requireContract(
    api("POST", `/api/v2.1/public/contracts/upload_${route}_contracts/`, {
      body: await createUploadRequest({
        creator_signatories: [{ email: "ada@northwind.example" }],
        intake_form_data: { purpose: "Joint project" },
        ...overrides,
      }),
    }),
  );

const createClosedFormError = (reason: string) =>
  createDomainError("SVC_ASSUMED_112", `The intake form cannot be changed: ${reason}.`);

describe("change of intake form answers", () => {
  it("updates individual answers and emits the change", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id, number } = await uploadContract(emulator, "review");
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_DATA_UPDATED"]);
    const response = await emulator.api("PATCH", `/api/v2.1/public/contracts/${id}/intake_form/response`, {
      body: { value: { type: "USD", value: 12 }, region: "EU" },
    });
    const data = { purpose: "Joint project", value: { type: "USD", value: 12 }, region: "EU" };
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { data, created: initialTime } });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_DATA_UPDATED"]);

    const responses = (type: string) =>
      emulator.api("GET", `/api/v2.1/public/contracts/${number}/questionnaire/responses/?questionnaire_type=${type}`);
    const respondent = { created_by: "Ada Keller", org_name: "Northwind Legal" };
    assert.deepEqual(pickStatusAndBody(await responses("INTAKE_FORM")), {
      status: 200,
      body: { questionnaire_response_data: data, respondents: [{ created_at: "2031-01-02T03:04:05Z", ...respondent }] },
    });
    assert.deepEqual((await responses("TEMPLATE")).body, {
      questionnaire_response_data: {},
      respondents: [{ created_at: "2031-01-02T03:04:05Z", ...respondent }],
    });
    await assertRejected(
      emulator,
      () => responses("OTHER"),
      createFieldErrors({ questionnaire_type: ["Input should be 'INTAKE_FORM' or 'TEMPLATE'"] }),
    );
  });

  it("accepts changes to direct-signature paper until a user signs", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await uploadContract(emulator, "sign");
    const patch = (body: object) =>
      emulator.api("PATCH", `/api/v2.1/public/contracts/${id}/intake_form/response`, { body });
    assert.equal((await patch({ purpose: "Other project" })).status, 200);
    await emulator.control("POST", `contracts/${id}/sign`, { body: {} });
    await assertRejected(emulator, () => patch({ purpose: "Third" }), createClosedFormError("a signatory has signed"));
    await emulator.control("POST", `contracts/${id}/sign`, { body: {} });
    await assertRejected(
      emulator,
      () => patch({ purpose: "Third" }),
      createClosedFormError("the contract is in status EXECUTED"),
    );
  });

  it("rejects changes in signature after review, or without an editable workflow", async (t) => {
    const emulator = await startTestEmulator(t);
    const patch = (id: string) => () =>
      emulator.api("PATCH", `/api/v2.1/public/contracts/${id}/intake_form/response`, { body: { purpose: "x" } });
    const contract = await uploadContract(emulator, "review");
    await emulator.control("POST", `contracts/${contract.id}/complete-review`, { body: {} });
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/mark_for_execution/`, { body: {} });
    await assertRejected(emulator, patch(contract.id), createClosedFormError("the contract is in status SIGN"));
    const fixedContract = await uploadContract(emulator, "review", { contract_type_id: 302 });
    await assertRejected(
      emulator,
      patch(fixedContract.id),
      createClosedFormError("its workflow has no editable response"),
    );
    const template = await createDraftContract(emulator.api);
    await assertRejected(emulator, patch(template.id), createClosedFormError("its workflow has no editable response"));
  });

  it("validates answers against their questions", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id, number } = await uploadContract(emulator, "review");
    const patch = (body: unknown) => () =>
      emulator.api("PATCH", `/api/v2.1/public/contracts/${id}/intake_form/response`, { body });
    await assertRejected(
      emulator,
      patch({ purpose: "", value: "much" }),
      createFieldErrors({ purpose: ["Field required"], value: ["Input should be a valid number"] }),
    );
    await assertRejected(
      emulator,
      patch([1]),
      createFieldErrors({ non_field_errors: ["Invalid data. Expected a dictionary, but got list."] }),
    );
    await assertRejected(
      emulator,
      () => emulator.api("PATCH", `/api/v2.1/public/contracts/T-${number + 1}/intake_form/response`, { body: {} }),
      notFoundResponse,
    );
    const responses = `/api/v2.1/public/contracts/${number + 1}/questionnaire/responses/?questionnaire_type=INTAKE_FORM`;
    await assertRejected(emulator, () => emulator.api("GET", responses), notFoundResponse);
  });
});
