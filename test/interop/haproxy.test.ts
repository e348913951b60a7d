import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it, type TestContext } from "node:test";
import { Agent, request } from "undici";
import { createContractRequest as contract } from "../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator } from "../support/emulator.ts";
import { readEvents } from "../support/event-stream.ts";
import { canRun } from "../support/foreign/program.ts";
import { startRoutedEmulator } from "../support/routed-emulator.ts";
import { createTemporaryFolder } from "../support/store.ts";

const skip = (await canRun("haproxy", "-v")) ? false : "needs haproxy";

const tls = new URL("../../fixtures/tls/", import.meta.url).pathname;

/** A server behind the proxy, and its probe configuration. */
interface ProxiedServer {
  readonly url: string;
  /** The probe address if it differs from the listening address. */
  readonly probedAt?: string;
  readonly probe: string;
}

/**
 * Starts HAProxy with TLS in front of one name per server. Returns its Unix socket, which uses no port, and the result
 * of the first probe of each server.
 */
async function startHaproxy(t: TestContext, servers: Readonly<Record<string, ProxiedServer>>) {
  const folder = await createTemporaryFolder(t);
  const socket = join(folder, "socket");
  const pem = await Promise.all(["cert", "key"].map((part) => readFile(`${tls}service.${part}.pem`, "utf8")));
  await writeFile(join(folder, "service.pem"), pem.join(""));
  const all = Object.entries(servers);
  const backends = all.map(([name, { url, probedAt = url, probe }]) => {
    const { hostname, port } = new URL(url);
    return `backend ${name}
      ${probe}
      server ${name} ${hostname}:${port} check port ${new URL(probedAt).port} inter 100ms fall 1 rise 1`;
  });
  const configuration = `global
      log stdout format raw local0
    defaults
      mode http
      log global
      option log-health-checks
      timeout connect 10s
      timeout check 10s
      timeout client 60s
      timeout server 60s
    frontend all
      bind unix@${socket} ssl crt ${folder}/service.pem alpn http/1.1
      option forwardfor
      http-request set-header X-Forwarded-Host %[req.hdr(host)]
      http-request set-header X-Forwarded-Proto https
      use_backend %[req.hdr(host)]
    ${backends.join("\n")}
`;
  await writeFile(join(folder, "haproxy.cfg"), configuration);
  const child = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: ["ignore", "pipe", "pipe"] });
  const exit = once(child, "exit");
  t.after(async () => {
    child.kill("SIGTERM");
    await exit;
  });
  let errors = "";
  child.stderr.on("data", (piece) => {
    errors += piece;
  });
  const probes: Record<string, string> = {};
  for await (const line of createInterface(child.stdout)) {
    const [, name, reason] =
      /^Health check for server [^/]+\/(\S+) .*reason: (.*?), (?:info|check duration)/.exec(line) ?? [];
    if (name !== undefined) probes[name] ??= reason!;
    if (Object.keys(probes).length === all.length) return { socketPath: socket, probes };
  }
  throw new Error(`haproxy ended: ${errors}`);
}

/** A remote client that resolves all names to the proxy. */
function createProxySender(t: TestContext, socketPath: string) {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false, socketPath } });
  t.after(() => dispatcher.close());
  type Sent = { readonly body?: object | string | null; readonly headers?: Readonly<Record<string, string>> };
  const stream = (method: string, url: string, { body, headers = {} }: Sent = {}) => {
    const isDocument = typeof body === "object" && !(body !== null && Symbol.asyncIterator in body);
    return request(url, {
      ...{ method, dispatcher },
      ...(body === undefined ? {} : { body: (isDocument ? JSON.stringify(body) : body) as string }),
      headers: { ...(isDocument && { "content-type": "application/json" }), ...headers },
    });
  };
  const send = async (method: string, url: string, sent?: Sent) => {
    const response = await stream(method, url, sent);
    const text = await response.body.text();
    return { status: response.statusCode, text, body: (text.startsWith("{") ? JSON.parse(text) : {}) as never };
  };
  return { stream, send };
}

it("HAProxy probes an emulator by every method and explains a probe without a path", { skip }, async (t) => {
  const { routerUrl: url, clusters } = await startTestEmulator(t);
  const { probes } = await startHaproxy(t, {
    path: { url, probe: "option httpchk /_emulator/ready" },
    get: { url, probe: "option httpchk GET /_emulator/ready" },
    head: { url, probe: "option httpchk HEAD /_emulator/live" },
    host: {
      url,
      probe: "option httpchk\n http-check send meth GET uri /_emulator/ready ver HTTP/1.1 hdr Host localhost",
    },
    cluster: { url: clusters[0]!.url, probedAt: url, probe: "option httpchk GET /_emulator/ready" },
    connection: { url: clusters[0]!.url, probe: "" },
    bare: { url, probe: "option httpchk" },
  });
  assert.deepEqual(probes, {
    ...Object.fromEntries(
      ["path", "get", "head", "host", "cluster"].map((name) => [name, "Layer7 check passed, code: 200"]),
    ),
    connection: "Layer4 check passed",
    // A page of another site must not reach anything except probes (DECISIONS.md, P22).
    bare: "Layer7 wrong status, code: 403",
  });
});

const probe = "option httpchk GET /_emulator/ready";
const addresses = { router: "https://sandbox.example", cluster: "https://eu-1.sandbox.example" };

it("HAProxy terminates TLS for requests, pages, files and event streams", { skip }, async (t) => {
  const emulator = await startTestEmulator(t, {
    publicUrl: addresses.router,
    clusterUrls: { "eu-1": addresses.cluster },
    trustedProxies: ["127.0.0.1"],
  });
  const { routerUrl, clusters, token } = emulator;
  const { socketPath } = await startHaproxy(t, {
    "sandbox.example": { url: routerUrl, probe },
    "eu-1.sandbox.example": { url: clusters[0]!.url, probedAt: routerUrl, probe },
  });
  const { send, stream } = createProxySender(t, socketPath);
  const key = { "client-id": clusters[0]!.clientId!, "client-secret": clusters[0]!.clientSecret! };
  const authorization = `Bearer ${token}`;

  const events = await stream("GET", `${addresses.router}/_emulator/events`, {
    headers: { authorization, accept: "text/event-stream" },
  });
  assert.deepEqual([events.statusCode, events.headers["content-type"]], [200, "text/event-stream"]);
  const eventReader = readEvents(events.body);
  assert.equal((await eventReader.next()).value?.event, "begin");

  const lookUp = "/router/v1/clusters/";
  const { status, text } = await send("GET", `${addresses.router}${lookUp}`);
  assert.deepEqual({ status, body: JSON.parse(text) }, pickStatusAndBody(await emulator.router("GET", lookUp)));

  const response = await send("POST", `${addresses.router}/router/v1/oauth2.0/device/code/`, {
    body: { client_id: "demo-cli" },
  });
  const { verification_uri_complete: page } = response.body as { verification_uri_complete: string };
  assert.equal(page.startsWith(`${addresses.router}/`), true, page);
  const pageResponse = await send("GET", page);
  assert.equal(pageResponse.status, 200, pageResponse.text);
  assert.match(pageResponse.text, /<form/);

  const api = `${addresses.cluster}/api/v2.1/public`;
  const upload = { body: { files: [{ filename: "a.txt", content_type: "text/plain" }] }, headers: key };
  const { files } = (await send("POST", `${api}/workspace/files/uploads/`, upload)).body as {
    files: { upload_url: string }[];
  };
  const putRequest = { body: "hello", headers: { "content-type": "text/plain" } };
  assert.equal((await send("PUT", files[0]!.upload_url, putRequest)).status, 200);

  const created = await send("POST", `${api}/contracts/`, { body: contract(), headers: key });
  assert.equal(created.status, 201, created.text);
  for await (const { event, ref } of eventReader) {
    if (event !== "contract") continue;
    assert.equal(ref, "T-1");
    break;
  }
});

it("HAProxy forwards a chunked webhook with many headers unchanged", { skip }, async (t) => {
  const emulator = await startRoutedEmulator(t, { trustedProxies: ["127.0.0.1"], allowedHosts: ["sandbox.example"] });
  const { socketPath } = await startHaproxy(t, { "sandbox.example": { url: emulator.routerUrl, probe } });
  await emulator.map("teams", "us-1", ["T1"]);
  emulator.us.respond((_, response) => response.writeHead(202, { "x-answered-by": "us" }).end("taken"));
  const pieces = ['{ "type":"event_callback","team_id":"T1",', '"text":"caf\\u00e9 é', "x".repeat(100_000), '"}'];
  async function* inPieces() {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`x-many-${i}`, `${i} `.repeat(20).trim()]));
  const path = "/router/v1/integrations/chat_a/webhook/event/";
  const headers = { "content-type": "application/json", ...many, "x-forwarded-for": "198.51.100.7" };
  const response = await createProxySender(t, socketPath).stream("POST", `${addresses.router}${path}`, {
    body: inPieces(),
    headers,
  });
  assert.deepEqual(
    [response.statusCode, response.headers["x-answered-by"], await response.body.text()],
    [202, "us", "taken"],
  );
  assert.deepEqual(emulator.eu.received, []);
  const [request] = emulator.us.received;
  assert.equal(request?.body.toString(), pieces.join(""));
  const forwardedHeaders = Object.entries(request!.headers).filter(([name]) => /^x-(?:many|forwarded)-/.test(name));
  assert.deepEqual(Object.fromEntries(forwardedHeaders), {
    ...many,
    "x-forwarded-for": "198.51.100.7, 127.0.0.1",
    "x-forwarded-host": "sandbox.example",
    "x-forwarded-proto": "https",
  });
});
