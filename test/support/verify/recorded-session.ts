import type { TestContext } from "node:test";
import { openWebhookReceiver } from "../../../src/cli/connection/webhook-receiver.ts";
import { openRecordingProxy } from "../../../src/verify/proxy.ts";
import { ExchangeRecorder } from "../../../src/verify/recorder.ts";
import { createSender, type TestEmulator } from "../emulator.ts";

export interface RecordedSession {
  /** Sends a request through the recording proxy with the API key. Each request advances virtual time. */
  readonly api: ReturnType<typeof createSender>;
  /** URL of a receiver that records webhooks. */
  readonly receiverUrl: string;
  /** Ends the recording after everything is stored. */
  end(): Promise<void>;
}

/** Returns the recording receiver's response to a webhook and its time. */
export type WebhookResponder = (activity: string, time: number) => { readonly status: number; readonly at: number };

/** Records the traffic to a service in a folder, like `svc verify proxy` and `svc webhooks listen --save`. */
export async function recordSession(
  t: Pick<TestContext, "after">,
  emulator: TestEmulator,
  folder: string,
  to = emulator.clusters[0]!.url,
  respond: WebhookResponder = (_, at) => ({ status: 200, at }),
): Promise<RecordedSession> {
  const recorder = await ExchangeRecorder.open(folder);
  const stored: Promise<unknown>[] = [];
  const proxy = await openRecordingProxy({
    to,
    host: "127.0.0.1",
    port: 0,
    now: Date.now,
    onExchange: (exchange) => stored.push(recorder.add(exchange)),
    onSkipped: (reason) => {
      throw new Error(reason);
    },
  });
  t.after(() => proxy.close());
  const receiver = await openWebhookReceiver({
    async respond({ path, headers, body }) {
      const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
      const { activity } = JSON.parse(body.toString()) as { activity: string };
      const request = { method: "POST", target: path, headers: pairs, body };
      const { status, at } = respond(activity, emulator.clock.now());
      const response = { status, headers: [], body: Buffer.from("") };
      stored.push(recorder.add({ callee: "receiver", operation: activity, at, request, response }));
      return { status };
    },
  });
  t.after(() => receiver.close());
  const first = emulator.clusters[0]!;
  const send = createSender(proxy.url, {
    "client-id": first.clientId ?? "",
    "client-secret": first.clientSecret ?? "",
  });
  return {
    receiverUrl: receiver.url,
    async api(method, path, request) {
      await emulator.clock.advance({ by: 1_700 });
      const response = await send(method, path, request);
      // The resulting webhooks are delivered before the next request.
      await emulator.clock.advance({ by: 1 });
      return response;
    },
    async end() {
      await emulator.clock.advance({ by: 1_000 });
      await send("GET", "/api/v2.1/public/auth/users/");
      await proxy.close();
      await Promise.all(stored);
      await recorder.close();
    },
  };
}

const base = "/api/v2.1/public";

/** Reads the templates, types and people at the start of a recording, so that a replay has the same ones. */
export async function readReferenceData({ api }: Pick<RecordedSession, "api">): Promise<void> {
  for (const path of [
    "/templates/",
    "/templates/101/",
    "/templates/101/metadata",
    "/contract_types/",
    "/organizations/entities/",
    "/organizations/types/",
    "/auth/roles/",
    "/auth/users/",
  ])
    await api("GET", base + path);
}

/** Creates a contract, reads it and the list, comments and uploads. Some requests are invalid. */
export async function runContractJourney({ api }: Pick<RecordedSession, "api">, name: string): Promise<void> {
  const response = await api("POST", `${base}/contracts/`, {
    body: {
      contract_template_id: 101,
      contract_data: {},
      counter_party_details: [
        { is_individual: true, poc_details: { first_name: name, email: `${name}@acme.example` } },
      ],
    },
  });
  const { id, contract_id } = response.body as { id: string; contract_id: number };
  await api("GET", `${base}/contracts/${id}/status`);
  await api("GET", `${base}/contracts/T-${contract_id + 900_000}/status`);
  await api("GET", `${base}/contracts/T-${contract_id + 900_000}/recipients/`);
  await api("POST", `${base}/contracts/${contract_id}/comments/`, { body: { comment: `Hello ${name}` } });
  await api("POST", `${base}/contracts/${contract_id}/comments/`, { body: {} });
  await api("POST", `${base}/counter_parties/`, {
    body: {
      organization_name: `${name} Works`,
      is_individual: false,
      organization_type: "Corporation",
      jurisdiction_iso_code: "DE",
      email: `office@${name.toLowerCase()}.example`,
      name,
    },
  });
  await api("POST", `${base}/workspace/files/uploads/`, {
    body: { files: [{ filename: `${name}.pdf`, content_type: "application/pdf" }] },
  });
  await api("GET", `${base}/contracts/`);
  await api("GET", `${base}/auth/roles/`);
}

/** Subscribes the recording receiver or another URL. */
export const subscribe = ({ api }: Pick<RecordedSession, "api">, url: string, ...activities: string[]) =>
  api("POST", `${base}/webhooks/`, {
    body: { title: "recorder", url: `${url}/hooks`, only_for_activities: activities },
  });

/** Populates a service with contracts, comments, counterparties, intakes and webhooks. Some contracts are sent. */
export async function populateService({ api }: TestEmulator, contracts: number): Promise<void> {
  for (let at = 0; at < contracts; at += 1) {
    const response = await api("POST", `${base}/contracts/`, {
      body: {
        contract_template_id: 101,
        contract_data: {},
        counter_party_details: [
          { is_individual: true, poc_details: { first_name: "Old", email: `old${at}@acme.example` } },
        ],
      },
    });
    const { id, contract_id } = response.body as { id: string; contract_id: number };
    await api("POST", `${base}/contracts/${contract_id}/comments/`, { body: { comment: "Ready?" } });
    if (at % 2 === 1) await api("POST", `${base}/contracts/${id}/send_to_counterparties`);
    await api("POST", `${base}/counter_parties/`, {
      body: {
        organization_name: `Old Works ${at}`,
        is_individual: false,
        organization_type: "Corporation",
        jurisdiction_iso_code: "DE",
        email: `office${at}@works.example`,
        name: "Old",
      },
    });
    await api("POST", "/api/v1/public/legal_intake/", {
      body: { workflow_id: 201, title: `Question ${at}`, description: "Please look at it" },
    });
  }
}
