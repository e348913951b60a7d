import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSentContract } from "../../support/contracts.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { getHiddenFields } from "../../support/identity/forms.ts";
import { getSigningLink, submitSuccessfully } from "../../support/identity/recipient-page.ts";
import { callerTrace } from "../../support/trace-kinds.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly trace: string;
  readonly what: string;
}

const listTraceNodes = async ({ control }: TestEmulator, ref: string) =>
  ((await control("GET", `traces/${ref}`)).body as { nodes: readonly Node[] }).nodes;

/** Returns a summary of each cause in the state. */
async function listCauses({ control }: TestEmulator): Promise<readonly string[]> {
  const { rows } = (await control("GET", "state")).body as { rows: { causes: readonly { what: string }[] } };
  return rows.causes.map(({ what }) => what);
}

/** Submits the form of an emulator page with the user's input. */
async function submit({ routerUrl }: TestEmulator, page: string, action: string, fields: Record<string, string>) {
  const html = await (await fetch(page)).text();
  const body = String(new URLSearchParams({ ...getHiddenFields(html), ...fields }));
  const { status } = await createSender(routerUrl)("POST", action, { body, headers: form });
  assert.ok(status < 400, String(status));
}

describe("user action on a page", () => {
  it("is the cause of a signature", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    await submitSuccessfully(await getSigningLink(emulator, contract, "jo@acme.example"), { act: "sign", text: "" });
    const nodes = await listTraceNodes(emulator, "T-1");
    const signed = nodes.find(({ what }) => what.startsWith("CONTRACT_SIGNED"));
    const cause = nodes.find(({ id }) => id === signed?.parent);
    assert.match(String(cause?.what), /^POST \/\S+$/);
  });

  it("is the cause of a device approval and a provider sign-in", async (t) => {
    const emulator = await startTestEmulator(t);
    const { user_code } = await startDeviceAuthorization(emulator);
    const page = `${emulator.routerUrl}/_emulator/device?user_code=${user_code}`;
    await submit(emulator, page, "/_emulator/device", { status: "AUTHORIZED", cluster_id: "us-1", email: "" });
    const { body } = await emulator.router("GET", "/router/v1/trial/signup/oauth");
    const { authorization_url } = body as { authorization_url: string };
    await submit(emulator, authorization_url, "/_emulator/provider", { email: "zoe@newco.example", name: "Zoe" });
    const causes = await listCauses(emulator);
    for (const act of [/ POST \/_emulator\/device$/, / POST \/_emulator\/provider$/]) {
      assert.equal(causes.filter((description) => act.test(description)).length, 1, causes.join("\n"));
    }
  });
});

describe("traceparent header", () => {
  const { trace, span } = callerTrace;
  const malformed = [
    `00-${trace}-${span}`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${"0".repeat(32)}-${span}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `ff-${trace}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `00-${trace}-${span}-01, 00-${trace}-${span}-01`,
    "",
  ];
  for (const traceparent of malformed) {
    it(`is ignored if it is malformed: ${JSON.stringify(traceparent)}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const webhook = { title: "a", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_SIGNED"] };
      const response = await emulator.api("POST", "/api/v2.1/public/webhooks/", {
        body: webhook,
        headers: { traceparent },
      });
      assert.equal(response.status, 201);
      const [{ trace: traceId, ...node } = assert.fail()] = (await listTraceNodes(
        emulator,
        "request:1",
      )) as readonly (Node & { readonly parent_span: string | null })[];
      assert.deepEqual([node.parent_span, traceId === trace, /^[0-9a-f]{32}$/.test(traceId)], [null, false, true]);
    });
  }

  it("is read by its known fields if its version is later", async (t) => {
    const emulator = await startTestEmulator(t);
    const webhook = { title: "a", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_SIGNED"] };
    const headers = { traceparent: `cc-${trace}-${span}-01-what-the-future-brings` };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook, headers });
    assert.equal((await listTraceNodes(emulator, trace))[0]?.id, "request:1");
  });
});
