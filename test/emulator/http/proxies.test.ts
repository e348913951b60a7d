import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

const forwardedHeaders = {
  "x-forwarded-for": "203.0.113.9, 198.51.100.7",
  "x-forwarded-host": "sandbox.example",
  "x-forwarded-proto": "https",
};

/** Returns the response status, the URL in the emulator's link, and the client address that the cluster receives. */
async function readForwardedInfo({ control, router }: TestEmulator, headers: Readonly<Record<string, string>>) {
  const { status, body } = await control("POST", "sessions/codes", { headers });
  const { url } = body as { url?: string };
  await router("GET", "/somewhere", { headers: { ...headers, "client-id": "demo-client" } });
  await router("GET", "/api/v1/auth/captcha-config", { headers });
  const inbox = (await control("GET", "clusters/eu-1/inbox")).body as { items: { headers: [string, string][] }[] };
  const last = inbox.items.at(-1)?.headers.find(([name]) => name === "x-forwarded-for")?.[1];
  return { status, at: url?.replace(/#.*/, ""), for: last?.replace(/, 127\.0\.0\.1$/, "") };
}

describe("X-Forwarded-* handling", () => {
  it("trusts addresses as far back as trusted proxies confirm them", async (t) => {
    const emulator = await startTestEmulator(t, {
      trustedProxies: ["127.0.0.0/8", "198.51.100.0/24"],
      allowedHosts: ["sandbox.example"],
    });
    assert.deepEqual(await readForwardedInfo(emulator, forwardedHeaders), {
      status: 201,
      at: "https://sandbox.example/_emulator/ui/",
      for: "203.0.113.9, 198.51.100.7",
    });
    const forgedHeaders = { ...forwardedHeaders, "x-forwarded-for": "10.9.9.9, 203.0.113.9, 198.51.100.7" };
    assert.equal((await readForwardedInfo(emulator, forgedHeaders)).for, "203.0.113.9, 198.51.100.7");
  });

  it("produces the configured public URL of the listener", async (t) => {
    const emulator = await startTestEmulator(t, {
      trustedProxies: ["127.0.0.1"],
      publicUrl: "https://sandbox.example/twin",
    });
    assert.equal(
      (await readForwardedInfo(emulator, forwardedHeaders)).at,
      "https://sandbox.example/twin/_emulator/ui/",
    );
  });

  it("rejects a disallowed host, whatever the proxy", async (t) => {
    const emulator = await startTestEmulator(t, { trustedProxies: ["127.0.0.1"] });
    assert.equal((await readForwardedInfo(emulator, forwardedHeaders)).status, 403);
  });

  it("removes the headers of untrusted proxies, and has no effect by default", async (t) => {
    const strict = await startTestEmulator(t, { trustedProxies: ["198.51.100.7"] });
    assert.deepEqual(await readForwardedInfo(strict, forwardedHeaders), {
      status: 201,
      at: `${strict.controlUrl}/ui/`,
      for: "127.0.0.1",
    });
    const usual = await startTestEmulator(t);
    assert.deepEqual(await readForwardedInfo(usual, forwardedHeaders), {
      status: 201,
      at: `${usual.controlUrl}/ui/`,
      for: "203.0.113.9, 198.51.100.7",
    });
  });

  it("removes the headers under every name that proxies use", async (t) => {
    const otherHeaders = {
      forwarded: "for=10.0.0.1",
      "x-forwarded-prefix": "/a",
      "x-forwarded-user": "b",
      "x-real-ip": "10.0.0.1",
    };
    const listReceived = async (trustedProxies: readonly string[]) => {
      const emulator = await startTestEmulator(t, { trustedProxies });
      await emulator.router("GET", "/somewhere?cluster_id=eu-1", { headers: otherHeaders });
      const { items } = (await emulator.control("GET", "clusters/eu-1/inbox")).body as {
        items: { headers: [string, string][] }[];
      };
      return items[0]!.headers.map(([name]) => name).filter((name) => Object.hasOwn(otherHeaders, name));
    };
    assert.deepEqual(await listReceived(["198.51.100.7"]), []);
    assert.deepEqual(await listReceived(["127.0.0.1"]), Object.keys(otherHeaders));
  });

  it("allows only pages of the named host to use the control plane", async (t) => {
    const emulator = await startTestEmulator(t, { trustedProxies: ["127.0.0.1"], allowedHosts: ["sandbox.example"] });
    const { host } = new URL(emulator.routerUrl);
    const getClockStatus = async (origin: string) =>
      (
        await emulator.control("GET", "clock", {
          headers: { ...forwardedHeaders, origin, "sec-fetch-site": "same-origin" },
        })
      ).status;
    assert.deepEqual(
      [
        await getClockStatus("https://sandbox.example"),
        await getClockStatus("http://sandbox.example"),
        await getClockStatus("https://evil.example"),
        await getClockStatus(`http://${host}`),
      ],
      [200, 403, 403, 200],
    );
  });

  it("requires addresses as trusted proxies", async (t) => {
    for (const range of ["10.0.0.0/33", "balancer", "10.0.0.0/", "::1/129"]) {
      await assert.rejects(startTestEmulator(t, { trustedProxies: [range] }), {
        message: `startEmulator: trustedProxies.0 must be an address or a range (10.0.0.0/8), got "${range}"`,
      });
    }
    for (const range of ["10.0.0.0/8", "::1", "fd00::/8", "127.0.0.1"])
      await startTestEmulator(t, { trustedProxies: [range] });
  });
});
