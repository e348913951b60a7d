import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TraceNode, toSpan } from "../../../src/api/trace-span.ts";
import { buildOtlpDocument } from "../../../src/base/otel.ts";
import { createSentContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { getSigningLink, submitSuccessfully } from "../../support/identity/recipient-page.ts";
import { startReceiver } from "../../support/receiver.ts";

const jo = "jo@acme.example";
const plantedSecrets = [
  "s3cret-in-the-query",
  "s3cret-in-the-address",
  "s3cret-in-a-header",
  "s3cret-of-an-invitation",
];

/** Every string of the state whose field name denotes a secret. */
function collectSecrets(value: unknown, name = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => collectSecrets(one, name));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) => collectSecrets(inner, key));
  }
  const isSecret = /(?:secret|token|tokens|hmac_key|^key|password|code)$/.test(name) && !/country|object/.test(name);
  return isSecret && typeof value === "string" && value.length >= 8 ? [value] : [];
}

describe("trace of a whole contract journey", () => {
  it("contains no secret", async (t) => {
    const sink = await startReceiver(t);
    const emulator = await startTestEmulator(t, { deterministic: true });
    const url = `${sink.url.replace("//", `//me:${plantedSecrets[1]}@`)}/hook?token=${plantedSecrets[0]}`;
    const webhook = {
      title: "a",
      url,
      only_for_activities: ["CONTRACT_CREATED", "CONTRACT_SIGNED"],
      custom_headers: { "x-key": plantedSecrets[2] },
    };
    const plainUrl = `${sink.url}/hook?token=${plantedSecrets[0]}`;
    const { status } = await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    if (status !== 201)
      await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: { ...webhook, url: plainUrl } });
    const contract = await createSentContract(emulator.api);
    const link = await getSigningLink(emulator, contract, jo);
    await submitSuccessfully(link, { act: "sign", text: "Fine" });
    await emulator.router("GET", `/invite/by_token/${plantedSecrets[3]}?code=${plantedSecrets[0]}`);
    await emulator.control("POST", "clock/advance", { body: { by: "P1D" } });

    const state = (await emulator.control("GET", "state")).body as { rows: { causes: readonly { id: string }[] } };
    const key = new URL(link).searchParams;
    const secrets = new Set([
      ...plantedSecrets,
      ...collectSecrets({ ...state, on: emulator.token }),
      emulator.token,
      ...[...key.values()].filter((value) => !value.includes("@")),
    ]);
    assert.ok(key.has("key") || key.size > 1, link);
    assert.ok(secrets.size > plantedSecrets.length + 5);
    const traceNodes: TraceNode[] = [];
    for (const ref of ["T-1", "webhook:1", ...state.rows.causes.map(({ id }) => id)]) {
      const { body } = await emulator.control("GET", `traces/${ref}`);
      traceNodes.push(...(body as { nodes: readonly TraceNode[] }).nodes);
    }
    assert.ok(traceNodes.some(({ what: label }) => label.includes("/hook")));
    const text = JSON.stringify([
      traceNodes,
      buildOtlpDocument(traceNodes.map(toSpan), {}, { name: "svc", version: "1" }),
    ]);
    assert.deepEqual(
      [...secrets].filter((secret) => text.includes(secret) || text.includes(encodeURIComponent(secret))),
      [],
    );
  });
});
