import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDraftContract } from "../../support/contracts.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

interface StreamedDelivery {
  readonly id: number;
  readonly webhook_id: number;
  readonly outcome: string;
  readonly at: string;
  readonly attempt: { readonly number: number; readonly resend: boolean; readonly status: number } | null;
}

const formatEvent = ({ id, webhook_id, outcome, attempt }: StreamedDelivery): string => {
  const label = attempt
    ? `${attempt.resend ? "resend" : "attempt"} ${attempt.number}: ${attempt.status}`
    : "no attempt";
  return `delivery ${id} to webhook ${webhook_id}, ${label}, ${outcome}`;
};

/** Opens the stream, and returns a function that reads the next events. */
async function follow(t: TestContext, { controlUrl, token }: Pick<TestEmulator, "controlUrl" | "token">, query = "") {
  const abort = new AbortController();
  t.after(() => abort.abort());
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await fetch(`${controlUrl}/deliveries/events${query}`, { headers, signal: abort.signal });
  const reader = body!.getReader();
  let text = "";
  return async (count: number): Promise<readonly string[]> => {
    for (;;) {
      const frames = text.split("\n\n");
      if (frames.length > count) {
        text = frames.slice(count).join("\n\n");
        return frames.slice(0, count).map((frame) => formatEvent(JSON.parse(frame.replace("data: ", ""))));
      }
      text += Buffer.from((await reader.read()).value!).toString();
    }
  };
}

async function subscribe(api: TestEmulator["api"], url: string): Promise<number> {
  const body = { title: "Hooks", url, only_for_activities: ["CONTRACT_CREATED"] };
  return ((await api("POST", "/api/v2.1/public/webhooks/", { body })).body as { id: number }).id;
}

const advance = ({ control }: TestEmulator, by: string) => control("POST", "clock/advance", { body: { by } });

describe("deliveries.watch", () => {
  it("is not held back by a reverse proxy that buffers responses", async (t) => {
    const { controlUrl, token } = await startTestEmulator(t);
    const abort = new AbortController();
    t.after(() => abort.abort());
    const { headers } = await fetch(`${controlUrl}/deliveries/events`, {
      headers: { authorization: `Bearer ${token}` },
      signal: abort.signal,
    });
    assert.equal(headers.get("x-accel-buffering"), "no");
  });

  it("returns further attempts, resends and skips, without earlier ones", async (t) => {
    const emulator = await startTestEmulator(t);
    const receiver = await startReceiver(t);
    receiver.respond(500);
    const id = await subscribe(emulator.api, receiver.url);
    await createDraftContract(emulator.api);
    await advance(emulator, "PT1S");
    const next = await follow(t, emulator);
    await advance(emulator, "PT5M");
    assert.deepEqual(await next(1), [`delivery 1 to webhook ${id}, attempt 2: 500, retrying`]);
    await emulator.control("POST", "deliveries/1/resend");
    assert.deepEqual(await next(1), [`delivery 1 to webhook ${id}, resend 3: 500, retrying`]);
    await emulator.control("POST", `webhooks/${id}/disable`);
    await advance(emulator, "PT10M");
    assert.deepEqual(await next(1), [`delivery 1 to webhook ${id}, no attempt, skipped_disabled`]);
  });

  it("returns only matching events", async (t) => {
    const emulator = await startTestEmulator(t);
    const receiver = await startReceiver(t);
    await subscribe(emulator.api, receiver.url);
    const second = await subscribe(emulator.api, receiver.url);
    const [ofWebhook, ofContract] = [
      await follow(t, emulator, `?webhook=${second}`),
      await follow(t, emulator, "?contract=T-2&outcome=delivered"),
    ];
    await createDraftContract(emulator.api);
    await createDraftContract(emulator.api);
    await advance(emulator, "PT1S");
    assert.deepEqual(await ofWebhook(2), [
      `delivery 2 to webhook ${second}, attempt 1: 200, delivered`,
      `delivery 4 to webhook ${second}, attempt 1: 200, delivered`,
    ]);
    assert.deepEqual((await ofContract(2)).map((line) => line.slice(0, 10)).sort(), ["delivery 3", "delivery 4"]);
  });

  it("returns to a token of a workspace only the deliveries of this workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const receiver = await startReceiver(t);
    const [, second] = (await emulator.control("GET", "workspaces")).body as {
      name: string;
      client_id: string;
      client_secret: string;
    }[];
    const { name: workspace, client_id, client_secret } = second!;
    const api = createSender(emulator.routerUrl, { "client-id": client_id, "client-secret": client_secret });
    await subscribe(emulator.api, receiver.url);
    const webhookId = await subscribe(api, receiver.url);
    const response = await emulator.control("POST", "tokens/bound", { body: { role: "read", workspace } });
    const next = await follow(t, { ...emulator, token: (response.body as { token: string }).token });
    await createDraftContract(emulator.api);
    await createDraftContract(api, { contract_template_id: 103 });
    await advance(emulator, "PT1S");
    assert.deepEqual(await next(1), [`delivery 2 to webhook ${webhookId}, attempt 1: 200, delivered`]);
  });
});
