import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBasicHeader } from "../../../../src/schemes/http-authorization.ts";
import { pickStatusAndBody } from "../../../support/emulator.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

const path = "/router/v1/billing/webhook";
const credentials = { user: "billing", password: "s3cret:with:colons" };
const startBillingRouter = (
  t: Parameters<typeof startRoutedEmulator>[0],
  options: Parameters<typeof startRoutedEmulator>[1] = {},
) =>
  startRoutedEmulator(t, {
    apps: { billing: { username: credentials.user, password: credentials.password } },
    ...options,
  });
const send = (
  { router }: RoutedEmulator,
  body: unknown,
  authorization: string | undefined = formatBasicHeader(credentials),
) =>
  router("POST", path, {
    body,
    headers: { "content-type": "application/json", ...(authorization && { authorization }) },
  });

describe("billing event", () => {
  for (const content of [
    { customer: { id: "us-1_7" } },
    { subscription: { customer_id: "us-1_7" } },
    { invoice: { customer_id: "us-1_7" } },
    { customer: { id: "us-1_7" }, invoice: { customer_id: "eu-1_1" } },
    { transaction: { customer_id: "us-1_7" } },
    { quote: { lines: [{ customer: { id: "us-1_7" } }] } },
    { customer: { id: "7" }, credit_note: { customer_id: "us-1_7" } },
  ]) {
    it(`is forwarded with ${JSON.stringify(content)} to the customer's cluster`, async (t) => {
      const routedWorld = await startBillingRouter(t);
      const body = `{ "id":"ev_1", "amount": 1.0, "content":${JSON.stringify(content)} }`;
      assert.equal((await send(routedWorld, body)).status, 200);
      assert.deepEqual(
        routedWorld.us.received.map((request) => request.body.toString()),
        [body],
      );
      assert.deepEqual(routedWorld.eu.received, []);
    });
  }

  it("is assigned by the longest known cluster ID in its customer ID", async (t) => {
    const clusters = ["eu", "eu_west"].map((id) => ({ id, label: id, external_url: "http://127.0.0.1:9" }));
    const apps = { billing: { username: credentials.user, password: credentials.password } };
    const nobodyThere = await startRoutedEmulator(t, { seed: { clusters, apps } });
    const owner = async (id: string) => (await send(nobodyThere, { content: { customer: { id } } })).body;
    assert.deepEqual(await owner("eu_west_3"), { detail: "Cluster eu_west is unreachable" });
    assert.deepEqual(await owner("eu_3"), { detail: "Cluster eu is unreachable" });
    assert.deepEqual(await owner("eu_west_"), { detail: "No customer id in the event" });
  });

  it("is rejected without a customer or for an unknown cluster", async (t) => {
    const routedWorld = await startBillingRouter(t);
    const noCustomer = { status: 400, body: { detail: "No customer id in the event" } };
    for (const event of [
      {},
      { content: null },
      { content: { customer: {} } },
      { content: { customer: { id: "7" } } },
      { content: { customer: { id: "eu-1_" } } },
      { content: { customer: { id: "_7" } } },
    ]) {
      assert.deepEqual(pickStatusAndBody(await send(routedWorld, event)), noCustomer);
    }
    assert.deepEqual(pickStatusAndBody(await send(routedWorld, { content: { customer: { id: "ap_9_7" } } })), {
      status: 404,
      body: { detail: "Unknown cluster: ap_9" },
    });
    assert.deepEqual(routedWorld.listForwarded(), []);
  });

  it("is rejected with the same response for all wrong credentials", async (t) => {
    const routedWorld = await startBillingRouter(t);
    const event = { content: { customer: { id: "eu-1_1" } } };
    for (const header of [
      "",
      "Basic bm9jb2xvbg==",
      "Basic !!!",
      "Bearer x",
      formatBasicHeader({ ...credentials, password: "guess" }),
      formatBasicHeader({ ...credentials, user: "guess" }),
    ]) {
      const response = await send(routedWorld, event, header);
      assert.deepEqual(pickStatusAndBody(response), { status: 401, body: { detail: "Not authenticated" } }, header);
      assert.equal(response.headers.get("www-authenticate"), "Basic");
    }
    assert.equal((await send(routedWorld, [], "Basic !!!")).status, 401);
    assert.equal((await send(routedWorld, "{", "Basic !!!")).status, 422);
    const sendBinary = (headers: Record<string, string>) =>
      routedWorld.router("POST", path, {
        body: Buffer.from([0xff]),
        headers: { "content-type": "application/octet-stream", ...headers },
      });
    assert.deepEqual(pickStatusAndBody(await sendBinary({})), { status: 401, body: { detail: "Not authenticated" } });
    assert.deepEqual(pickStatusAndBody(await sendBinary({ authorization: formatBasicHeader(credentials) })), {
      status: 400,
      body: { detail: "There was an error parsing the body" },
    });
    assert.deepEqual(pickStatusAndBody(await send(routedWorld, [])), {
      status: 422,
      body: { detail: [{ type: "dict_type", loc: ["body"], msg: "Input should be a valid dictionary", input: [] }] },
    });
    assert.deepEqual(routedWorld.listForwarded(), []);
  });
});
