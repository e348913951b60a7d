import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { startReceiver } from "../../../support/receiver.ts";
import { type RoutedEmulator, startRoutedEmulator } from "../../../support/routed-emulator.ts";

/** Sends a request without the normalization of a client library. */
async function sendRawRequest(base: string, target: string, method: string, headers: string[], body?: Uint8Array) {
  const { hostname, port } = new URL(base);
  const sent = httpRequest({ hostname, port, path: target, method, headers, setHost: false });
  sent.end(body);
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, rawHeaders: response.rawHeaders as string[], body: Buffer.concat(chunks) };
}

/** Starts a router that maps the client `app` to eu-1. */
async function startWithEuClient(...args: Parameters<typeof startRoutedEmulator>): Promise<RoutedEmulator> {
  const emulator = await startRoutedEmulator(...args);
  await emulator.map("clients", "eu-1", ["app"]);
  return emulator;
}

describe("forwarded request", () => {
  it("preserves its bytes, target and headers, and adds its origin", async (t) => {
    const emulator = await startWithEuClient(t);
    const host = new URL(emulator.routerUrl).host;
    const body = Buffer.from([0x7b, 0xff, 0x00, 0x0a, 0xc3, 0x28, 0x7d]);
    await sendRawRequest(
      emulator.routerUrl,
      "/a//b/%zz/%c3%a9?x=1&x=%zz&&y",
      "POST",
      [
        ...["Host", host, "X-Odd-CASE", "one", "x-odd-case", "two", "Client-Id", "app"],
        ...["Content-Type", "application/x-www-form-urlencoded"],
        ...["Connection", "close, X-Secret-Hop", "X-Secret-Hop", "1"],
        ...["TE", "trailers", "Proxy-Authorization", "Basic eDp5", "X-Forwarded-For", "203.0.113.9", "Via", "1.0 edge"],
        ...["X-Latin", "caf\u00e9", "Content-Length", "7"],
      ],
      body,
    );

    const [request] = emulator.eu.received;
    assert.deepEqual([request?.method, request?.url, request?.body], ["POST", "/a//b/%zz/%c3%a9?x=1&x=%zz&&y", body]);
    const [via, ...rest] = (request?.rawHeaders ?? []).flatMap((text, i, all) =>
      i % 2 === 1 && all[i - 1] === "via" ? [text] : [],
    );
    assert.match(via ?? "", /^1\.0 edge, 1\.1 \S+$/);
    assert.deepEqual(rest, []);
    const pairs = (request?.rawHeaders ?? []).flatMap((_, i, all) => (i % 2 === 0 ? [`${all[i]}: ${all[i + 1]}`] : []));
    assert.deepEqual(
      pairs.filter((pair) => !/^(host|via|connection|content-length): /i.test(pair)),
      [
        "X-Odd-CASE: one",
        "x-odd-case: two",
        "Client-Id: app",
        "Content-Type: application/x-www-form-urlencoded",
        "X-Latin: caf\u00e9",
        "x-forwarded-for: 203.0.113.9, 127.0.0.1",
        `x-forwarded-host: ${host}`,
        "x-forwarded-proto: http",
      ],
    );
    assert.equal(request?.headers.host, new URL(emulator.eu.url).host);
    assert.equal(request?.headers["content-length"], "7");
  });

  it("returns the cluster's status, headers and bytes", async (t) => {
    const emulator = await startWithEuClient(t);
    const body = Buffer.from([0xff, 0xfe, 0x00]);
    emulator.eu.respond((_, response) => {
      response.writeHead(418, [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["Content-Type", "text/x-odd; charset=weird"],
        ["Content-Encoding", "gzip"],
        ["X-Latin", "caf\u00e9"],
      ]);
      response.end(body);
    });
    const host = new URL(emulator.routerUrl).host;
    const response = await sendRawRequest(emulator.routerUrl, "/x", "GET", ["Host", host, "client-id", "app"]);

    assert.deepEqual([response.status, response.body], [418, body]);
    const pairs = response.rawHeaders.flatMap((_, i, all) => (i % 2 === 0 ? [`${all[i]}: ${all[i + 1]}`] : []));
    for (const pair of ["Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Encoding: gzip", "X-Latin: caf\u00e9"]) {
      assert.ok(pairs.includes(pair), `${pair} in ${pairs.join("; ")}`);
    }
    assert.deepEqual(
      pairs.filter((pair) => /^content-type/i.test(pair)),
      ["Content-Type: text/x-odd; charset=weird"],
    );
  });

  it("isolates HTML pages with an additional policy and leaves JSON unchanged", async (t) => {
    const emulator = await startWithEuClient(t);
    const policiesFor = async (...types: readonly string[]) => {
      const policy = ["Content-Security-Policy", "script-src 'none'"] as const;
      emulator.eu.respond((_, response) =>
        response.writeHead(200, [policy, ...types.map((type) => ["Content-Type", type] as const)].flat()).end("{}"),
      );
      const response = await sendRawRequest(emulator.routerUrl, "/x", "GET", ["Host", "localhost", "client-id", "app"]);
      return response.rawHeaders.filter((_, i, all) => /^content-security-policy$/i.test(all[i - 1] ?? ""));
    };
    const apart = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts allow-top-navigation";
    const both = ["script-src 'none'", apart];
    assert.deepEqual(await policiesFor("text/html"), both);
    assert.deepEqual(await policiesFor("image/svg+xml"), both);
    assert.deepEqual(await policiesFor(), both);
    assert.deepEqual(await policiesFor("application/json, text/html"), both);
    assert.deepEqual(await policiesFor("application/json", "text/html"), both);
    assert.deepEqual(await policiesFor("application/json"), both.slice(0, 1));
    assert.deepEqual(await policiesFor("application/json; charset=utf-8"), both.slice(0, 1));
  });

  it("returns redirects without following them", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond((_, response) => response.writeHead(302, { location: `${emulator.us.url}/elsewhere` }).end());
    const response = await emulator.router("GET", "/x?client_id=app");
    assert.deepEqual([response.status, response.headers.get("location")], [302, `${emulator.us.url}/elsewhere`]);
    assert.deepEqual(emulator.listForwarded(), ["eu GET /x?client_id=app"]);
  });

  it("transfers 20 MB in both directions unchanged", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond((request, response) => response.end(request.body));
    const body = randomBytes(20_000_000);
    const response = await fetch(`${emulator.routerUrl}/big`, { method: "PUT", body, headers: { "client-id": "app" } });
    const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    assert.equal(sha(new Uint8Array(await response.arrayBuffer())), sha(body));
  });

  it("receives the response while the cluster is still writing", { timeout: 20_000 }, async (t) => {
    const emulator = await startWithEuClient(t);
    const pending = new Promise<ServerResponse>((resolve) => {
      emulator.eu.respond((_, response) => {
        response.writeHead(200).write("first");
        resolve(response);
      });
    });
    const slowResponse = await fetch(`${emulator.routerUrl}/slow?client_id=app`);
    const reader = slowResponse.body!.getReader();
    const response = await pending;
    assert.equal(Buffer.from((await reader.read()).value!).toString(), "first");
    response.write("last");
    assert.equal(Buffer.from((await reader.read()).value!).toString(), "last");
    response.end();
    assert.deepEqual(await reader.read(), { done: true, value: undefined });
  });
});

describe("emulator control header", () => {
  it("is removed from requests and responses, like a connection header", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond((_, response) => {
      response.writeHead(200, [
        ...["X-Svc-Not-Leading", "1", "x-svc-matched", "no", "x-svc-webhook-content-hash", "h", "X-Hop", "1"],
        ...["Connection", "X-Hop, close", "Keep-Alive", "timeout=9", "Proxy-Authenticate", "Basic", "TE", "x"],
        ...["Upgrade", "h2c", "X-Stays", "1", "Content-Length", "2"],
      ]);
      response.end("ok");
    });
    const { host } = new URL(emulator.routerUrl);
    const steering = ["X-SVC-Passed", "1", "x-svc-link", "x", "x-svc-webhook-content-hash", "h"];
    const response = await sendRawRequest(emulator.routerUrl, "/x", "GET", [
      "Host",
      host,
      "client-id",
      "app",
      ...steering,
    ]);
    const names = (raw: readonly string[]) => raw.filter((_, i) => i % 2 === 0);
    assert.deepEqual(
      names(emulator.eu.received[0]!.rawHeaders).filter((name) => /^x-svc/i.test(name)),
      ["x-svc-webhook-content-hash"],
    );
    assert.deepEqual(names(response.rawHeaders), [
      ...["x-svc-webhook-content-hash", "X-Stays", "Date", "content-security-policy", "x-svc-matched"],
      ...["content-length", "x-svc-time", "Connection", "Keep-Alive"],
    ]);
  });
});

describe("failing cluster", () => {
  it("causes a 502 if it refuses the connection", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond((_, response) => response.destroy());
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x?client_id=app")), {
      status: 502,
      body: { detail: "Cluster eu-1 is unreachable" },
    });
  });

  it("causes a 504 if it exceeds the timeout", async (t) => {
    const emulator = await startWithEuClient(t, { upstreamTimeoutMs: 1_000 });
    let closed: Promise<unknown> | undefined;
    emulator.eu.respond((_, response) => {
      closed = once(response, "close");
    });
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x?client_id=app")), {
      status: 504,
      body: { detail: "Cluster eu-1 did not answer in time" },
    });
    await closed;
  });

  it("closes the client's connection if it aborts its response", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("only a part", () => response.destroy());
    });
    const response = await fetch(`${emulator.routerUrl}/x?client_id=app`);
    assert.equal(response.status, 200);
    await assert.rejects(response.text());
  });

  it("is notified when the client disconnects", { timeout: 20_000 }, async (t) => {
    const emulator = await startWithEuClient(t, { upstreamTimeoutMs: 600_000 });
    const caller = new AbortController();
    const disconnected = new Promise<void>((resolve) => {
      emulator.eu.respond((_, response) => {
        response.on("close", resolve);
        caller.abort();
      });
    });
    await assert.rejects(fetch(`${emulator.routerUrl}/x?client_id=app`, { signal: caller.signal }));
    await disconnected;
  });

  it("is notified when the client of a broadcast disconnects", { timeout: 20_000 }, async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 600_000 });
    const caller = new AbortController();
    let requestCount = 0;
    const disconnections = [emulator.eu, emulator.us].map(
      (cluster) =>
        new Promise<void>((resolve) =>
          cluster.respond((_, response) => {
            response.on("close", resolve);
            requestCount += 1;
            if (requestCount === 2) caller.abort();
          }),
        ),
    );
    await assert.rejects(fetch(`${emulator.routerUrl}/x`, { signal: caller.signal }));
    await Promise.all(disconnections);
  });

  it("is notified when the client of the router's own request disconnects", { timeout: 20_000 }, async (t) => {
    const emulator = await startRoutedEmulator(t, { upstreamTimeoutMs: 600_000 });
    const signup = { email: "zoe@newco.example", captcha: "yes" };
    const { token } = (await emulator.router("POST", "/router/v1/trial/signup", { body: signup })).body as {
      token: string;
    };
    const caller = new AbortController();
    const disconnected = new Promise<void>((resolve) =>
      emulator.eu.respond((_, response) => {
        response.on("close", resolve);
        caller.abort();
      }),
    );
    const form = { token, first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "x", use_case: "y" };
    await assert.rejects(
      fetch(`${emulator.routerUrl}/router/v1/trial/signup/complete`, {
        method: "POST",
        body: JSON.stringify(form),
        headers: { "content-type": "application/json" },
        signal: caller.signal,
      }),
    );
    await disconnected;
  });

  it("causes a 508 if its URL leads back to the router", async (t) => {
    const emulator = await startWithEuClient(t);
    emulator.eu.respond(async ({ url, headers }, response) => {
      const secondResponse = await fetch(`${emulator.routerUrl}${url}`, { headers: { via: headers.via ?? "" } });
      response.writeHead(secondResponse.status).end(await secondResponse.text());
    });
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/x?client_id=app")), {
      status: 508,
      body: { detail: "The request was forwarded by this router already; a cluster URL points at the router itself" },
    });
    assert.deepEqual(emulator.listForwarded(), ["eu GET /x?client_id=app"]);
  });
});

it("the router forwards a request to a backend with a path in its URL", async (t) => {
  const backend = await startReceiver(t);
  const seed = { clusters: [{ id: "eu-1", label: "eu", external_url: `${backend.url}/base` }] };
  const emulator = await startRoutedEmulator(t, { seed });
  await emulator.router("GET", "/x?y=1");
  assert.deepEqual(
    backend.received.map(({ url }) => url),
    ["/base/x?y=1"],
  );
});

it("the router adds the virtual time once, even if the cluster sends it", async (t) => {
  const emulator = await startTestEmulator(t);
  const { clientId = "", clientSecret = "" } = emulator.clusters[0]!;
  const headers = { "client-id": clientId, "client-secret": clientSecret };
  const response = await emulator.router("GET", "/api/v2.1/public/webhooks/hmac_key/", { headers });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-svc-time"), "2031-01-02T03:04:05.000Z");
});
