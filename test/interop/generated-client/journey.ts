// ../generated-client.test.ts compiles and runs this file next to the types that it generates.
import createClient from "openapi-fetch";
import type { paths as Contracts } from "./contracts.ts";
import type { paths as Emulator } from "./emulator.ts";
import type { paths as Router } from "./router.ts";

export interface JourneyAddresses {
  readonly routerUrl: string;
  readonly contractsUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
  readonly receiverUrl: string;
}

/** Runs the journey from an uploaded file to an executed contract. Returns the results of its steps. */
export async function runJourney(addresses: JourneyAddresses) {
  const key = { "client-id": addresses.clientId, "client-secret": addresses.clientSecret };
  const contracts = createClient<Contracts>({ baseUrl: addresses.contractsUrl, headers: key });
  const router = createClient<Router>({ baseUrl: addresses.routerUrl });
  const emulator = createClient<Emulator>({
    baseUrl: addresses.routerUrl,
    headers: { authorization: `Bearer ${addresses.token}` },
  });

  const clusters = requireData(await router.GET("/router/v1/clusters/", {}));
  const webhook = requireData(
    await contracts.POST("/api/v2.1/public/webhooks/", {
      body: {
        title: "All",
        url: addresses.receiverUrl,
        only_for_activities: ["CONTRACT_CREATED", "CONTRACT_EXECUTED"],
      },
    }),
  );

  const uploads = requireData(
    await contracts.POST("/api/v2.1/public/workspace/files/uploads/", {
      body: { files: [{ filename: "brief.txt", content_type: "text/plain" }] },
    }),
  );
  const file = uploads.files[0]!;
  const response = await fetch(file.upload_url, {
    method: "PUT",
    headers: { "content-type": "text/plain" },
    body: "hello",
  });
  const intake = requireData(
    await contracts.POST("/api/v1/public/legal_intake/", {
      body: { title: "Please draft", workflow_id: 201, file_ids: [file.file_id] },
    }),
  );

  const created = requireData(
    await contracts.POST("/api/v2.1/public/contracts/", {
      body: {
        contract_template_id: 101,
        contract_name: "NDA with Initech",
        contract_data: {},
        counter_party_details: [
          {
            is_individual: false,
            organization_name: "Initech",
            poc_details: { first_name: "Bill", last_name: "L", email: "bill@initech.example" },
          },
        ],
      },
    }),
  );
  const path = { composite_id: created.id };
  requireData(
    await contracts.POST("/api/v2.1/public/contracts/{composite_id}/send_to_counterparties", {
      params: { path },
      body: {},
    }),
  );
  const sent = requireData(
    await contracts.GET("/api/v2.1/public/contracts/{composite_id}/status", { params: { path } }),
  );
  const recipients = requireData(
    await contracts.GET("/api/v2.1/public/contracts/{composite_id}/recipients/", { params: { path } }),
  );
  requireData(
    await emulator.POST("/_emulator/contracts/{id}/sign", {
      params: { path: { id: created.id } },
      body: { email: "bill@initech.example" },
    }),
  );
  const executed = requireData(
    await contracts.GET("/api/v2.1/public/contracts/{composite_id}/status", { params: { path } }),
  );
  requireData(await emulator.POST("/_emulator/clock/advance", { body: { until_idle: true } }));
  const deliveries = requireData(
    await emulator.GET("/_emulator/deliveries", { params: { query: { webhook: webhook.id, outcome: "delivered" } } }),
  );

  const refused = await contracts.GET("/api/v2.1/public/contracts/{composite_id}/status", {
    params: { path: { composite_id: "T-999" } },
  });
  // @ts-expect-error The types know which bodies an operation takes.
  void (() => contracts.POST("/api/v2.1/public/contracts/", { body: { contract_name: 7 } }));
  // @ts-expect-error And which fields its answer has.
  void (() => created.nothing_of_the_kind);

  return {
    clusters: clusters.map(({ cluster_id }) => cluster_id),
    put: response.status,
    attachments: intake.attachments.map(({ name }) => name),
    sent: sent.contract_status,
    recipients: recipients.items.map(({ recipient, status }) => `${recipient.user.email} ${status}`),
    executed: executed.contract_status,
    delivered: deliveries.items.map(({ activity }) => activity),
    refused: [refused.response.status, refused.error],
  };
}

/** Returns the body of a success. Throws otherwise. */
function requireData<T>({ data, error, response }: { data?: T; error?: unknown; response: Response }): T {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data as T;
}
