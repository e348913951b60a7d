import assert from "node:assert/strict";
import { describe, it } from "node:test";
import demo from "../../../../fixtures/seeds/demo.json" with { type: "json" };
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const path = "/api/v2.1/public/webhooks/";
const retrigger = "/api/v2.1/public/contracts/webhooks/re_trigger_latest/";

const hook = {
  title: "Signatures",
  url: "https://receiver.example/hooks",
  only_for_activities: ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"],
};

const noPermission = {
  status: 403,
  body: {
    detail: "You do not have permission to perform this action.",
    status_code: 403,
    code: "SVC_ASSUMED_201",
    message: "You do not have permission to perform this action.",
  },
};
const unknownHook = {
  status: 404,
  body: { detail: "Webhook not found.", status_code: 404, code: "SVC_ASSUMED_202", message: "Webhook not found." },
};
const badUrl = { status: 400, body: { url: ["Enter a valid HTTPS URL."] } };

/** The demo seed with a key of workspace 1 without Developer Settings. */
const seedWithoutSettings = {
  ...demo,
  workspaces: demo.workspaces.map((workspace) => (workspace.id === 1 ? { ...workspace, permissions: [] } : workspace)),
};

const createIn = async (api: TestEmulator["api"], body: object = {}) =>
  ((await api("POST", path, { body: { ...hook, ...body } })).body as { id: number }).id;

describe("webhooks.create", () => {
  it("registers a receiver and returns its data", async (t) => {
    const { api } = await startTestEmulator(t);
    const response = await api("POST", path, {
      body: { ...hook, description: "For the CRM", custom_headers: { " X-Abc-Key ": "v" } },
    });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 201,
      body: {
        id: 1,
        title: "Signatures",
        only_for_activities: ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"],
        url: "https://receiver.example/hooks",
        created_by_user: { id: 11, name: "Ada Keller", email: "ada@northwind.example", designation: "General Counsel" },
        description: "For the CRM",
        custom_headers: { "X-Abc-Key": "v" },
        status: "ACTIVE",
      },
    });
  });

  for (const url of [
    "http://127.0.0.1:9/\r\nX: y",
    "https://a.example/\u0000\u001b[2J",
    "https://a.example/\u0085",
    "https://a.example/a b",
    "https://a.exa\tmple/",
    " https://a.example/",
    "https://a.example/\n",
    "https:a.example",
    "https:/a.example/",
    "https:///a.example/",
    "https:\\\\a.example/",
    "https://a.example\\hooks",
  ]) {
    it(`rejects the URL ${JSON.stringify(url)}`, async (t) => {
      const { api } = await startTestEmulator(t);
      assert.deepEqual(pickStatusAndBody(await api("POST", path, { body: { ...hook, url } })), badUrl);
    });
  }

  it("numbers webhooks across all workspaces of the emulator", async (t) => {
    const emulator = await startTestEmulator(t);
    const elsewhere = await createWorkspaceApi(emulator, 3);
    assert.deepEqual(
      [await createIn(emulator.api), await createIn(elsewhere), await createIn(emulator.api)],
      [1, 2, 3],
    );
  });

  const accepted = [
    "https://anything.example:8443/x?y=z",
    "http://127.0.0.1:9/hook",
    "http://localhost/hook",
    "http://app.localhost:3000/",
    "http://[::1]:8080/",
    // Alternative notations of the loopback address.
    "http://2130706433/",
  ];
  for (const url of accepted) {
    it(`accepts ${url}`, async (t) => {
      const { api } = await startTestEmulator(t);
      assert.equal((await api("POST", path, { body: { ...hook, url } })).status, 201);
    });
  }

  const forbiddenUrls = [
    "http://receiver.example/hooks",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "http://localhost.evil.example/",
    "ftp://receiver.example/",
    "javascript:alert(1)",
    "https://user:secret@receiver.example/",
    "receiver.example",
    "https://",
  ];
  for (const url of forbiddenUrls) {
    it(`rejects ${url}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await assertRejected(emulator, () => emulator.api("POST", path, { body: { ...hook, url } }), badUrl);
    });
  }

  it("accepts http to the hosts of --webhook-allow", async (t) => {
    const { api } = await startTestEmulator(t, { webhookAllow: ["receiver.example", "other.example:80"] });
    for (const url of ["http://receiver.example/", "http://other.example/"])
      assert.equal((await api("POST", path, { body: { ...hook, url } })).status, 201);
  });

  it("records a finding for an http receiver", async (t) => {
    const { api, control } = await startTestEmulator(t);
    await createIn(api);
    await createIn(api, { url: "http://127.0.0.1:9/hook" });
    const { items } = (await control("GET", "requests?service=contracts")).body as { items: { findings: object[] }[] };
    assert.deepEqual(
      items.map(({ findings }) => findings),
      [[], [{ code: "http-receiver", detail: "the specification requires https" }]],
    );
  });

  it("records a finding for a receiver that is the emulator itself", async (t) => {
    const { api, control, routerUrl, clusters } = await startTestEmulator(t);
    const port = new URL(routerUrl).port;
    const ownUrls = [
      `${routerUrl}/hook`,
      `http://localhost:${port}/`,
      `http://tenant.localhost:${port}/`,
      `http://[::1]:${port}/`,
      `${clusters[0]!.url}/x`,
    ];
    for (const url of ownUrls) await createIn(api, { url });
    await createIn(api, { url: "http://127.0.0.1:9/" });
    const { items } = (await control("GET", "requests?service=contracts")).body as {
      items: { findings: { code: string; detail: string }[] }[];
    };
    const found = items.map(({ findings }) => findings.find(({ code }) => code === "own-receiver")?.detail ?? null);
    assert.deepEqual(found.toSorted(), [
      ...ownUrls.map((url) => `${new URL(url).origin} is this emulator, which receives no webhooks`).toSorted(),
      null,
    ]);
  });

  it("accepts only https under --strict=receivers", async (t) => {
    const emulator = await startTestEmulator(t, { strict: ["receivers"] });
    assert.equal((await emulator.api("POST", path, { body: hook })).status, 201);
    await assertRejected(
      emulator,
      () => emulator.api("POST", path, { body: { ...hook, url: "http://127.0.0.1:9/" } }),
      badUrl,
    );
  });

  const custom = "Header names must be custom names that start with X-.";
  const headers: [name: string, value: string, problem: string][] = [
    ["Authorization", "v", custom],
    ["Content-Type", "v", custom],
    ["X-", "v", custom],
    ["X-A B", "v", custom],
    ["X-A\r\nX-B", "v", custom],
    ["", "v", custom],
    ["x-google-thing", "v", "Header names must not start with X-GOOGLE-."],
    ["X-Amz-Date", "v", "Header names must not start with X-AMZ-."],
    ["X-B3-TraceId", "v", "Header names must not start with X-B3-."],
    ["X-SVC-WEBHOOK-CONTENT-HASH", "v", "Header names must not start with X-SVC-."],
    ["X-Abc", "a\r\nX-Evil: 1", "Header values must not contain control characters."],
    ["X-Abc", "☃", "Header values must not contain characters beyond ISO-8859-1."],
    ["X-Abc", "😀", "Header values must not contain characters beyond ISO-8859-1."],
  ];
  for (const [name, value, problem] of headers) {
    it(`rejects the custom header ${JSON.stringify(name)}: ${JSON.stringify(value)}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const body = { ...hook, custom_headers: { "X-Fine": "v", [name]: value } };
      const expected = { status: 400, body: { custom_headers: { [name]: [problem] } } };
      await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
    });
  }

  it("rejects duplicate custom headers in different case", async (t) => {
    const emulator = await startTestEmulator(t);
    const body = { ...hook, custom_headers: { "X-Abc": "1", "x-abc": "2" } };
    const expected = { status: 400, body: { custom_headers: { "x-abc": ["This header is repeated."] } } };
    await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
  });

  it("reports malformed fields individually", async (t) => {
    const emulator = await startTestEmulator(t);
    const required = ["Field required"];
    await assertRejected(emulator, () => emulator.api("POST", path, { body: {} }), {
      status: 400,
      body: { title: required, url: required, only_for_activities: required },
    });
    await assertRejected(emulator, () => emulator.api("POST", path, { body: { ...hook, only_for_activities: [] } }), {
      status: 400,
      body: { only_for_activities: ["List should have at least 1 item after validation, not 0"] },
    });
    const { status, body } = await emulator.api("POST", path, { body: { ...hook, only_for_activities: ["PARTY"] } });
    assert.equal(status, 400);
    assert.match(
      (body as { only_for_activities: { 0: string[] } }).only_for_activities[0][0]!,
      /^Input should be 'CONTRACT_CREATED', .* or 'CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT'$/,
    );
  });

  it("requires the permission Developer Settings", async (t) => {
    const emulator = await startTestEmulator(t, { seed: seedWithoutSettings });
    await assertRejected(emulator, () => emulator.api("POST", path, { body: hook }), noPermission);
  });
});

describe("webhooks.delete", () => {
  it("ends delivery to the webhook", async (t) => {
    const { api } = await startTestEmulator(t);
    const id = await createIn(api);
    assert.deepEqual(pickStatusAndBody(await api("DELETE", `${path}${id}`)), { status: 204, body: "" });
    assert.deepEqual(pickStatusAndBody(await api("DELETE", `${path}${id}`)), unknownHook);
  });

  it("rejects a webhook of another workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const otherApi = await createWorkspaceApi(emulator, 2);
    const id = await createIn(otherApi);
    await assertRejected(emulator, () => emulator.api("DELETE", `${path}${id}`), unknownHook);
    await assertRejected(emulator, () => emulator.api("DELETE", `${path}abc`), notFoundResponse);
    assert.equal((await otherApi("DELETE", `${path}${id}`)).status, 204);
  });

  it("requires the permission Developer Settings", async (t) => {
    const emulator = await startTestEmulator(t, { seed: seedWithoutSettings });
    await assertRejected(emulator, () => emulator.api("DELETE", `${path}1`), noPermission);
  });
});

describe("webhooks.hmac-key", () => {
  it("returns a stable 64-byte key of the workspace", async (t) => {
    const emulator = await startTestEmulator(t, { seed: seedWithoutSettings });
    const keyOf = async (api: TestEmulator["api"]) => {
      const { status, body } = await api("GET", `${path}hmac_key/`);
      assert.equal(status, 200);
      const { hmac_key, ...rest } = body as { hmac_key: string };
      assert.deepEqual(rest, {});
      return hmac_key;
    };
    const key = await keyOf(emulator.api);
    assert.equal(Buffer.from(key, "base64").length, 64);
    assert.equal(Buffer.from(key, "base64").toString("base64"), key);
    assert.equal(await keyOf(emulator.api), key);
    assert.notEqual(await keyOf(await createWorkspaceApi(emulator, 2)), key);
  });
});

describe("webhooks.re-trigger", () => {
  const nothing = { status: 404, body: { detail: "Not Found" } };

  const contract = {
    contract_template_id: 101,
    contract_data: {},
    counter_party_details: [
      {
        is_individual: false,
        organization_name: "Acme Corp",
        poc_details: { first_name: "Jo", last_name: "Diaz", email: "jo@acme.example" },
      },
    ],
  };

  async function createdContract(api: TestEmulator["api"]): Promise<number> {
    const response = await api("POST", "/api/v2.1/public/contracts/", { body: contract });
    assert.equal(response.status, 201, JSON.stringify(response.body));
    return (response.body as { contract_id: number }).contract_id;
  }

  it("resends the latest delivery of a contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const target = await startReceiver(t);
    await createIn(emulator.api, { url: target.url, only_for_activities: ["CONTRACT_CREATED"] });
    const id = await createdContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    assert.equal(target.received.length, 1);

    const response = await emulator.api("POST", retrigger, { body: { contract_ids: [id] } });
    assert.deepEqual(pickStatusAndBody(response), { status: 200, body: { message: "Success" } });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    assert.equal(target.received.length, 2);
    assert.deepEqual(target.received[1]!.body, target.received[0]!.body);
  });

  it("accepts only contracts of the workspace with activities", async (t) => {
    const emulator = await startTestEmulator(t);
    const untold = await createdContract(emulator.api);
    for (const contract_ids of [[untold], [999], [untold, 999]]) {
      await assertRejected(emulator, () => emulator.api("POST", retrigger, { body: { contract_ids } }), nothing);
    }
    const otherApi = await createWorkspaceApi(emulator, 2);
    await assertRejected(emulator, () => otherApi("POST", retrigger, { body: { contract_ids: [untold] } }), nothing);
  });

  it("requires at least one integer ID", async (t) => {
    const emulator = await startTestEmulator(t);
    await assertRejected(emulator, () => emulator.api("POST", retrigger, { body: { contract_ids: [] } }), {
      status: 400,
      body: { contract_ids: ["List should have at least 1 item after validation, not 0"] },
    });
    await assertRejected(emulator, () => emulator.api("POST", retrigger, { body: { contract_ids: ["T-1"] } }), {
      status: 400,
      body: { contract_ids: { 0: ["Input should be a valid integer, unable to parse string as an integer"] } },
    });
  });
});
