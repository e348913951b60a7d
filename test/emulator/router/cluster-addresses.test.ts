import assert from "node:assert/strict";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { deviceGrantType, startDeviceAuthorization } from "../../support/identity/devices.ts";
import { trialSignupFields } from "../../support/trial.ts";

it("the router reaches its own clusters when their public addresses are for clients only", async (t) => {
  const emulator = await startTestEmulator(t, {
    publicUrl: "https://router.invalid",
    clusterUrls: { "eu-1": "https://eu.invalid", "us-1": "https://us.invalid" },
  });
  const { router } = emulator;
  const keySet = await router("GET", "/.well-known/jwks.json");
  assert.equal((keySet.body as { keys?: unknown[] }).keys?.length, 2, JSON.stringify(keySet.body));
  assert.equal((await router("GET", "/.well-known/openid-configuration")).status, 200);

  const { device_code, decide } = await startDeviceAuthorization(emulator, "demo-cli");
  await decide("AUTHORIZED");
  const poll = { device_code, client_id: "demo-cli", grant_type: deviceGrantType };
  assert.equal((await router("POST", "/router/v1/oauth2.0/token/", { body: poll })).status, 200);

  const person = { email: "zoe@newco.example", captcha: "yes" };
  const { token } = (await router("POST", "/router/v1/trial/signup", { body: person })).body as { token: string };
  const workspace = { ...trialSignupFields, cluster_location: "us", token };
  const completion = await router("POST", "/router/v1/trial/signup/complete", { body: workspace });
  assert.equal(completion.status, 200, JSON.stringify(completion.body));
  assert.equal((completion.body as { cluster_url: string }).cluster_url, "https://us.invalid/");
});

it("a cluster without a public address is reported if the router has one", async (t) => {
  const lines: string[] = [];
  const { clusters } = await startTestEmulator(t, {
    publicUrl: "https://router.invalid",
    clusterUrls: { "eu-1": "https://eu.invalid" },
    log: (line) => lines.push(line),
  });
  const { url } = clusters.find(({ id }) => id === "us-1")!;
  assert.deepEqual(lines, [`clients get ${url} for us-1. To set its public address: --public-url us-1=URL`]);
});
