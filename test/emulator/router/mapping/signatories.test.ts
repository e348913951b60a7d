import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const getFirstRecipient = async (api: TestEmulator["api"], id: string) => {
  const { body } = await api("GET", `/api/v2.1/public/contracts/${id}/recipients/`);
  return (body as { items: { recipient: { id: number } }[] }).items[0]!;
};

const path = "/router/v1/contract_signatories/";

describe("contract signatory table", () => {
  it("adds one or several rows, and reuses equal rows of a cluster", async (t) => {
    const { router } = await startRoutedEmulator(t);
    const add = async (body: unknown) => pickStatusAndBody(await router("POST", path, { body }));
    const first = { id: 1, uuid: "u-1", cluster: "eu-1", signatory_hash: "h" };
    const second = { id: 2, uuid: null, cluster: "us-1", signatory_hash: "h" };

    assert.deepEqual(await add([{ signatory_hash: "h", cluster: "eu-1", uuid: "u-1" }]), {
      status: 201,
      body: [first],
    });
    assert.deepEqual(await add({ signatory_hash: "h", cluster: "us-1" }), { status: 201, body: [second] });
    assert.deepEqual(
      await add([
        { signatory_hash: "h", cluster: "us-1", uuid: "ignored" },
        { signatory_hash: "h", cluster: "eu-1" },
      ]),
      { status: 201, body: [second, first] },
    );
    assert.deepEqual(await add([]), { status: 201, body: [] });
  });

  it("continues after the rows of the seed", async (t) => {
    const seed = {
      clusters: [{ id: "eu-1", label: "eu" }],
      signatories: [
        { signatory_hash: "a", cluster: "eu-1" },
        { signatory_hash: "b", cluster: "eu-1", uuid: "u-2" },
      ],
    };
    const { router } = await startTestEmulator(t, { seed });
    const inputs = ["a", "b", "c"].map((signatory_hash) => ({ signatory_hash, cluster: "eu-1" }));
    assert.deepEqual((await router("POST", path, { body: inputs })).body, [
      { id: 1, uuid: null, ...inputs[0] },
      { id: 2, uuid: "u-2", ...inputs[1] },
      { id: 3, uuid: null, ...inputs[2] },
    ]);
  });

  it("assigns IDs from a separate sequence", async (t) => {
    const { api, router } = await startTestEmulator(t);
    await createDraftContract(api);
    const { body } = await router("POST", path, { body: { signatory_hash: "h", cluster: "eu-1" } });
    assert.deepEqual(body, [{ id: 1, uuid: null, cluster: "eu-1", signatory_hash: "h" }]);
    await createDraftContract(api);
    const { recipient } = await getFirstRecipient(api, "T-2");
    assert.equal(recipient.id, 2);
  });

  it("rejects an unknown cluster and malformed bodies without adding rows", async (t) => {
    const { router, control } = await startRoutedEmulator(t);
    const before = (await control("GET", "state")).body;
    const good = { signatory_hash: "h", cluster: "eu-1" };
    assert.deepEqual(pickStatusAndBody(await router("POST", path, { body: [good, { ...good, cluster: "ap-9" }] })), {
      status: 404,
      body: { detail: "Unknown cluster: ap-9" },
    });
    for (const body of [{}, "text", [good, 1], [{ ...good, cluster: 1 }], undefined]) {
      assert.equal((await router("POST", path, { body })).status, 422, JSON.stringify(body));
    }
    assert.deepEqual((await control("GET", "state")).body, before);
  });
});
