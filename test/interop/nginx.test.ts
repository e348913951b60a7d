import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, watch } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { Agent, request } from "undici";
import { createContractRequest as contract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { canRun } from "../support/foreign/program.ts";
import { createTemporaryFolder } from "../support/store.ts";

const skip = (await canRun("nginx", "-v")) ? false : "needs nginx";

const tls = new URL("../../fixtures/tls/", import.meta.url).pathname;

/** Starts nginx as a TLS proxy with one server name per upstream. Returns its Unix socket, which uses no port. */
async function startNginx(t: TestContext, upstreams: Readonly<Record<string, string>>): Promise<string> {
  const folder = await createTemporaryFolder(t);
  const socket = join(folder, "socket");
  const servers = Object.entries(upstreams).map(
    ([name, url]) => `server {
      listen unix:${socket} ssl;
      server_name ${name};
      location / {
        proxy_pass ${url};
        proxy_http_version 1.1;
        proxy_set_header X-Forwarded-For 203.0.113.9;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-Proto $scheme;
      }
    }`,
  );
  const pid = join(folder, "pid");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const configuration = `daemon off; master_process off; pid ${pid}; error_log ${folder}/log;
  events {}
  http {
    access_log off;
    ${temporary.map((label) => `${label}_temp_path ${folder}/${label};`).join(" ")}
    ssl_certificate ${tls}service.cert.pem; ssl_certificate_key ${tls}service.key.pem;
    ${servers.join("\n")}
  }`;
  await writeFile(join(folder, "nginx.conf"), configuration);
  const child = spawn("nginx", ["-e", `${folder}/log`, "-c", join(folder, "nginx.conf")], { stdio: "inherit" });
  const closed = once(child, "close");
  t.after(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  await new Promise<void>((resolve, down) => {
    const look = () => existsSync(pid) && resolve();
    const watcher = watch(folder, look);
    t.after(() => watcher.close());
    look();
    void closed.then(() => down(new Error("nginx ended")));
  });
  return socket;
}

it("nginx terminates TLS for router and clusters, and every link uses its address", { skip }, async (t) => {
  const at = { router: "https://sandbox.example", cluster: "https://eu-1.sandbox.example" };
  const emulator = await startTestEmulator(t, {
    publicUrl: at.router,
    clusterUrls: { "eu-1": at.cluster },
    trustedProxies: ["127.0.0.1"],
  });
  const { routerUrl, clusters, token } = emulator;
  const socketPath = await startNginx(t, { "sandbox.example": routerUrl, "eu-1.sandbox.example": clusters[0]!.url });

  /** A remote client that resolves these names to nginx. */
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false, socketPath } });
  t.after(() => dispatcher.close());
  type Sent = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };
  const send = async (method: string, url: string, { body, headers = {} }: Sent = {}) => {
    assert.match(url, /^https:\/\/(?:eu-1\.)?sandbox\.example\//);
    const response = await request(url, {
      ...{ method, dispatcher },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      headers: { ...(typeof body === "object" && { "content-type": "application/json" }), ...headers },
    });
    const text = await response.body.text();
    return { status: response.statusCode, text, body: (text.startsWith("{") ? JSON.parse(text) : {}) as never };
  };
  const key = { "client-id": clusters[0]!.clientId!, "client-secret": clusters[0]!.clientSecret! };
  const api = `${at.cluster}/api/v2.1/public`;

  const issuer = (await send("GET", `${at.router}/.well-known/openid-configuration`)).body as { issuer: string };
  assert.equal(issuer.issuer, at.router);

  const signInResponse = await send("POST", `${at.router}/router/v1/oauth2.0/device/code/`, {
    body: { client_id: "demo-cli" },
  });
  const { verification_uri_complete: page } = signInResponse.body as { verification_uri_complete: string };
  const pageResponse = await send("GET", page);
  assert.equal(pageResponse.status, 200, pageResponse.text);

  const upload = { body: { files: [{ filename: "a.txt", content_type: "text/plain" }] }, headers: key };
  const { files } = (await send("POST", `${api}/workspace/files/uploads/`, upload)).body as {
    files: { file_id: string; upload_url: string }[];
  };
  const putRequest = { body: "hello", headers: { "content-type": "text/plain" } };
  assert.equal((await send("PUT", files[0]!.upload_url, putRequest)).status, 200);
  const { signed_url: download } = (await send("GET", `${api}/workspace/files/${files[0]!.file_id}/`, { headers: key }))
    .body as { signed_url: string };
  assert.equal((await send("GET", download)).text, "hello");

  await send("POST", `${api}/contracts/`, { body: contract(), headers: key });
  await send("POST", `${api}/contracts/T-1/send_to_counterparties`, { body: {}, headers: key });
  const { items } = (await emulator.control("GET", "emails")).body as { items: { link: string | null }[] };
  const links = items.flatMap(({ link }) => link ?? []);
  assert.notEqual(links.length, 0);
  for (const link of links) assert.equal((await send("GET", link)).status, 200, link);

  const bearer = { authorization: `Bearer ${token}` };
  const response = await send("POST", `${at.router}/_emulator/sessions/codes`, { headers: bearer });
  const { code, url } = response.body as { code: string; url: string };
  assert.equal(url, `${at.router}/_emulator/ui/#code=${code}`);
  const origin = { origin: at.router, "sec-fetch-site": "same-origin" };
  const session = await send("POST", `${at.router}/_emulator/sessions`, { body: { code }, headers: origin });
  assert.equal(session.status, 201, session.text);

  // nginx buffers responses, unless they say otherwise.
  const events = await request(`${at.router}/_emulator/deliveries/events`, { dispatcher, headers: bearer });
  const stream = events.body[Symbol.asyncIterator]();
  t.after(() => stream.return?.());
  const nextEvent = stream.next();
  const hook = { title: "Hooks", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
  assert.equal((await send("POST", `${api}/webhooks/`, { body: hook, headers: key })).status, 201);
  await send("POST", `${api}/contracts/`, { body: contract(), headers: key });
  assert.match(String((await nextEvent).value), /"activity":"CONTRACT_CREATED"/);

  await send("GET", `${at.router}/somewhere`, { headers: key });
  const inbox = (await emulator.control("GET", "clusters/eu-1/inbox")).body as {
    items: { headers: [string, string][] }[];
  };
  const forwardedHeaders = inbox.items.at(-1)?.headers.filter(([name]) => name.startsWith("x-forwarded-"));
  assert.deepEqual(Object.fromEntries(forwardedHeaders!), {
    "x-forwarded-for": "203.0.113.9, 127.0.0.1",
    "x-forwarded-host": "sandbox.example",
    "x-forwarded-proto": "https",
  });
});
