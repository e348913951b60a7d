import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { getHiddenFields } from "../../support/identity/forms.ts";
import { assertRejected } from "../../support/rejections.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };
const quarter = 15 * 60_000;

/** The subject and cluster of a device's tokens. */
async function getOwner(
  { router }: TestEmulator,
  { poll }: Awaited<ReturnType<typeof startDeviceAuthorization>>,
): Promise<unknown> {
  const { access_token } = (await poll()).body as { access_token: string };
  const { body } = await router("GET", "/api/v1/oauth/userinfo/", {
    headers: { authorization: `Bearer ${access_token}` },
  });
  return body;
}

const createErrorBody = (code: string, message: string, hint?: string) => ({
  error: { code, message, ...(hint && { hint }) },
});

describe("device grants on the control plane", () => {
  it("device-grants.list returns waiting devices and earlier decisions, newest first", async (t) => {
    const emulator = await startTestEmulator(t);
    const decided = await startDeviceAuthorization(emulator);
    const waiting = await startDeviceAuthorization(emulator);
    await emulator.control("POST", `device-grants/${decided.user_code}`, {
      body: { status: "AUTHORIZED", email: "eli@fabrikam.example" },
    });
    await decided.poll();
    const row = { client_id: "demo-cli", expires_at: "2031-01-02T03:19:05.000Z" };
    assert.deepEqual(pickStatusAndBody(await emulator.control("GET", "device-grants")), {
      status: 200,
      body: [
        { user_code: waiting.user_code, status: "PENDING", cluster_id: null, redeemed: false, ...row },
        { user_code: decided.user_code, status: "AUTHORIZED", cluster_id: "us-1", redeemed: true, ...row },
      ],
    });
  });
});

describe("device approval on the control plane", () => {
  const approve = ({ control }: TestEmulator, code: string, body: object) =>
    control("POST", `device-grants/${code}`, { body });

  it("issues the tokens of the approving user", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    const decision = { status: "AUTHORIZED", email: "Eli@fabrikam.example" };
    assert.deepEqual(pickStatusAndBody(await approve(emulator, waiting.user_code, decision)), {
      status: 200,
      body: { user_code: waiting.user_code, status: "AUTHORIZED", cluster_id: "us-1" },
    });
    assert.deepEqual(await getOwner(emulator, waiting), {
      sub: "31",
      name: "Eli Stone",
      email: "eli@fabrikam.example",
      email_verified: true,
      cluster: "us-1",
    });
  });

  it("uses the acting user of the first workspace by default", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    const response = await approve(emulator, waiting.user_code.toLowerCase(), { status: "AUTHORIZED" });
    assert.deepEqual(response.body, {
      user_code: waiting.user_code.toLowerCase(),
      status: "AUTHORIZED",
      cluster_id: "eu-1",
    });
    assert.equal(((await getOwner(emulator, waiting)) as { sub: string }).sub, "11");
  });

  it("issues client tokens if the cluster has no user", async (t) => {
    const oauth_clients = [{ client_id: "demo-cli", client_name: "Demo" }];
    const emulator = await startTestEmulator(t, { seed: { clusters: [{ id: "eu-1", label: "eu" }], oauth_clients } });
    const waiting = await startDeviceAuthorization(emulator);
    await approve(emulator, waiting.user_code, { status: "AUTHORIZED", cluster_id: "eu-1" });
    assert.deepEqual(await getOwner(emulator, waiting), { sub: "demo-cli", cluster: "eu-1" });
  });

  it("accepts only the cluster that the code is bound to", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    await waiting.decide("PENDING", "us-1");
    await assertRejected(
      emulator,
      () => approve(emulator, waiting.user_code, { status: "AUTHORIZED", cluster_id: "eu-1" }),
      {
        status: 409,
        body: createErrorBody(
          "user_code_bound",
          `The user code ${waiting.user_code} is bound to another cluster.`,
          "Run `svc emulator devices` to see the cluster.",
        ),
      },
    );
    assert.deepEqual((await approve(emulator, waiting.user_code, { status: "AUTHORIZED" })).body, {
      user_code: waiting.user_code,
      status: "AUTHORIZED",
      cluster_id: "us-1",
    });
  });

  it("denies the device on request", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    await approve(emulator, waiting.user_code, { status: "DENIED", cluster_id: "us-1" });
    assert.deepEqual((await waiting.poll()).body, { error: "access_denied" });
  });

  it("requires a waiting code, an existing cluster, and one of its users", async (t) => {
    const emulator = await startTestEmulator(t);
    const { user_code } = await startDeviceAuthorization(emulator);
    const wrong = (code: string, body: object) => () => approve(emulator, code, { status: "AUTHORIZED", ...body });
    await assertRejected(emulator, wrong("BBBB-BBBB", {}), {
      status: 404,
      body: createErrorBody(
        "no_such_user_code",
        "No device has the user code BBBB-BBBB.",
        "List the devices with `svc emulator devices`.",
      ),
    });
    await assertRejected(emulator, wrong(user_code, { cluster_id: "ap-9" }), {
      status: 404,
      body: createErrorBody("no_such_cluster", "Cluster ap-9 not found. Known: eu-1, us-1."),
    });
    for (const [email, cluster_id] of [
      ["nobody@x.example", undefined],
      ["cleo@northwind.example", undefined],
      ["ada@northwind.example", "us-1"],
    ]) {
      await assertRejected(emulator, wrong(user_code, { email, cluster_id }), {
        status: 404,
        body: createErrorBody("no_such_user", `The cluster has no active user with the address ${email}.`),
      });
    }
    await approve(emulator, user_code, { status: "DENIED" });
    await assertRejected(emulator, wrong(user_code, {}), {
      status: 409,
      body: createErrorBody("user_code_decided", `The user code ${user_code} was already approved or denied.`),
    });
    const expiredDevice = await startDeviceAuthorization(emulator);
    await emulator.clock.advance({ by: quarter });
    await assertRejected(emulator, wrong(expiredDevice.user_code, {}), {
      status: 410,
      body: createErrorBody(
        "user_code_expired",
        `The user code ${expiredDevice.user_code} has expired.`,
        "Request a new code on the device.",
      ),
    });
  });
});

describe("device page", () => {
  const open = async ({ router }: TestEmulator, code?: string) => {
    const { status, body } = await router("GET", `/_emulator/device${code === undefined ? "" : `?user_code=${code}`}`);
    return { status, text: String(body) };
  };
  const submit = ({ router }: TestEmulator, page: string, fields: Record<string, string>, headers = {}) =>
    router("POST", "/_emulator/device", {
      body: String(new URLSearchParams({ ...getHiddenFields(page), ...fields })),
      headers: { ...form, ...headers },
    });

  it("prompts for a code, shows the device and approves it", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    assert.match((await open(emulator)).text, /<input name="user_code"/);
    const { status, text } = await open(emulator, waiting.user_code);
    assert.equal(status, 200);
    assert.match(text, /Demo command line requests access/);
    assert.match(text, /<option value="us-1">us-1 \(us\)<\/option>/);
    const fields = { status: "AUTHORIZED", cluster_id: "us-1", email: "" };
    const response = await submit(emulator, text, fields, {
      origin: emulator.routerUrl,
      "sec-fetch-site": "same-origin",
    });
    assert.equal(response.status, 200);
    assert.match(String(response.body), /The device is approved/);
    assert.equal(((await getOwner(emulator, waiting)) as { sub: string }).sub, "31");
  });

  it("denies a device", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    const { text } = await open(emulator, waiting.user_code);
    const response = await submit(emulator, text, { status: "DENIED", cluster_id: "eu-1" });
    assert.match(String(response.body), /The device is denied/);
    assert.deepEqual((await waiting.poll()).body, { error: "access_denied" });
  });

  it("reports an invalid code before and after the form", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    assert.match((await open(emulator, "<b>")).text, /No device has this code/);
    const { text } = await open(emulator, waiting.user_code);
    await waiting.decide("DENIED");
    assert.match((await open(emulator, waiting.user_code)).text, /already approved or denied/);
    const lateResponse = await submit(emulator, text, { status: "AUTHORIZED", email: "ada@northwind.example" });
    assert.match(String(lateResponse.body), /already approved or denied/);
    await emulator.clock.advance({ by: quarter });
    assert.match((await open(emulator, waiting.user_code)).text, /has expired/);
  });

  it("offers only the cluster that a code is bound to", async (t) => {
    const emulator = await startTestEmulator(t);
    const waiting = await startDeviceAuthorization(emulator);
    await waiting.decide("PENDING", "us-1");
    assert.doesNotMatch((await open(emulator, waiting.user_code)).text, /eu-1/);
  });

  it("rejects a form without its token and forms from other sites", async (t) => {
    const emulator = await startTestEmulator(t);
    const mine = await startDeviceAuthorization(emulator);
    const otherDevice = await startDeviceAuthorization(emulator);
    const { text } = await open(emulator, mine.user_code);
    const fields = { status: "AUTHORIZED", cluster_id: "eu-1" };
    const stale = {
      status: 403,
      body: createErrorBody("stale_form", "The form was not made by this emulator.", "Load the page again."),
    };
    await assertRejected(emulator, () => submit(emulator, text, { ...fields, form_token: "guess" }), stale);
    await assertRejected(
      emulator,
      () => submit(emulator, text, { ...fields, user_code: otherDevice.user_code }),
      stale,
    );
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    assert.equal((await submit(emulator, text, fields, foreign)).status, 403);
    assert.deepEqual((await mine.poll()).body, { error: "authorization_pending" });
  });
});
