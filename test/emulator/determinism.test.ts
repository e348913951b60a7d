import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../emulator/index.ts";
import { addCleanup } from "../support/cleanup.ts";
import { createContractRequest } from "../support/contracts.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** Status, headers except for the date, and exact body of a response. */
type Seen = readonly [status: number, headers: readonly (readonly [string, string])[], text: string];

const options = { deterministic: true, token: "control", clock: { mode: "manual" } } as const;

describe("--deterministic", () => {
  it("produces identical bytes for the same seed and requests in two runs", async (t) => {
    const target = await startReceiver(t);
    const port = await findFreePorts(3);
    const first = await run(t, target, { ...options, port });
    const second = await run(t, target, { ...options, port });
    assertSame(first, second);
  });

  it("produces identical bytes again after a reset", async (t) => {
    const target = await startReceiver(t);
    const running = await startTestEmulator(t, options);
    const first = await runJourney(running, target);
    assert.equal((await running.control("POST", "reset")).status, 204);
    assertSame(first, await runJourney(running, target));
  });

  it("generates different IDs for another seed, without duplicates after a restart or import", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-ids-"));
    addCleanup(t, () => rm(folder, { recursive: true, force: true }));
    const file = join(folder, "state.json");
    const ids: string[] = [];
    const start = (more: EmulatorOptions = {}) => startTestEmulator(t, { ...options, file, ...more });

    const before = await start();
    ids.push(await createFileId(before));
    const { body: state } = await before.control("GET", "state");
    await before.close();
    const after = await start();
    ids.push(await createFileId(after));
    await after.close();

    const restoredEmulator = await start({ file: undefined, ephemeral: true });
    assert.equal((await restoredEmulator.control("PUT", "state", { body: state })).status, 200);
    // The IDs after this point can equal those of the restarted emulator, but not the IDs in the state.
    assert.notEqual(await createFileId(restoredEmulator), ids[0]);
    const otherEmulator = await startTestEmulator(t, {
      ...options,
      seed: { clusters: [{ id: "eu-1", label: "eu" }], workspaces: [workspace], users: [user] },
    });
    ids.push(await createFileId(otherEmulator));
    assert.equal(new Set(ids).size, 3);
  });
});

const workspace = {
  id: 1,
  cluster_id: "eu-1",
  name: "Only one",
  acting_user_id: 1,
  organization_types: [],
  jurisdictions: [],
};
const user = { id: 1, workspace_id: 1, name: "Ada", email: "ada@example.com" };

async function run(t: TestContext, target: Receiver, options: EmulatorOptions) {
  const running = await startTestEmulator(t, options);
  const stdout = await runJourney(running, target);
  await running.close();
  return stdout;
}

/** Runs every operation that generates IDs, keys or times, and returns its responses and deliveries. */
async function runJourney(running: TestEmulator, target: Receiver) {
  const begin = target.received.length;
  const observed: Seen[] = [];
  const watched = (base: string, always: Readonly<Record<string, string>> = {}) => {
    const send = createSender(base, always);
    return async (method: string, path: string, body?: unknown) => {
      const response = await send(method, path, body === undefined ? {} : { body });
      const headers = [...response.headers].filter(([name]) => name !== "date");
      const text = typeof response.body === "string" ? response.body : JSON.stringify(response.body);
      observed.push([response.status, headers, text]);
      assert.ok(response.status < 400, `${method} ${path}: ${response.status} ${text}`);
      return response.body;
    };
  };
  const { clientId = "", clientSecret = "", url } = running.clusters[0]!;
  const api = watched(url, { "client-id": clientId, "client-secret": clientSecret });
  const router = watched(running.routerUrl);
  const send = watched(running.controlUrl, { authorization: `Bearer ${running.token}` });

  await api("POST", "/api/v2.1/public/webhooks/", {
    title: "All",
    url: target.url,
    only_for_activities: ["CONTRACT_CREATED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"],
  });
  target.respond(500);
  const files = [{ filename: "a.pdf", content_type: "application/pdf" }];
  await api("POST", "/api/v2.1/public/workspace/files/uploads/", { files });
  const { id } = (await api("POST", "/api/v2.1/public/contracts/", createContractRequest())) as { id: string };
  await api("POST", `/api/v2.1/public/contracts/${id}/send_to_counterparties`);
  await send("POST", "clock/advance", { by: "PT5M" });
  target.respond(200);
  await send("POST", `contracts/${id}/sign`, {});
  await send("POST", "clock/advance", { until_idle: true });
  await api("GET", `/api/v2.1/public/contracts/${id}/status`);
  await api("GET", `/api/v2.1/public/contracts/${id}/recipients/`);
  await api("POST", `/api/v2.1/public/contracts/${id}/download`);
  await router("POST", "/router/v1/oauth2.0/device/code/", { client_id: "demo-cli", scope: "openid" });
  await router("GET", "/.well-known/openid-configuration");
  // The requests are sequential, because keys are created on the first request for them.
  for (const cluster of running.clusters) await watched(cluster.url)("GET", "/.well-known/jwks.json");
  await router("GET", "/.well-known/jwks.json");
  await send("GET", "workspaces");
  await send("GET", "deliveries");
  await send("GET", "clock");
  await send("GET", "state");
  const delivered = target.received
    .slice(begin)
    .map(({ rawHeaders, body }) => [rawHeaders.join("\n"), body.toString("utf8")]);
  assert.equal(delivered.length, 5);
  return [...observed, ...delivered].map((part) => JSON.stringify(part));
}

/** Compares long strings and reports only the position of their first difference. */
function assertSame(expected: readonly string[], actual: readonly string[]): void {
  for (const [number, text] of expected.entries()) {
    const otherText = actual[number] ?? "";
    let at = 0;
    while (at < text.length && text[at] === otherText[at]) at += 1;
    const around = (text: string) => text.slice(Math.max(0, at - 60), at + 60);
    assert.equal(around(otherText), around(text), `part ${number}`);
    assert.equal(otherText.length, text.length);
  }
  assert.equal(actual.length, expected.length);
}

async function createFileId({ api }: TestEmulator): Promise<string> {
  const { status, body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", {
    body: { files: [{ filename: "a.pdf", content_type: "application/pdf" }] },
  });
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { files: { file_id: string }[] }).files[0]!.file_id;
}

/** Returns the first of several consecutive free ports. */
async function findFreePorts(count: number): Promise<number> {
  for (;;) {
    const begin = await listenBriefly(0, (port) => port);
    const next = Array.from({ length: count - 1 }, (_, i) => begin + 1 + i);
    const free = await Promise.all(next.map((port) => listenBriefly(port, () => true).catch(() => false)));
    if (free.every(Boolean)) return begin;
  }
}

async function listenBriefly<T>(port: number, use: (port: number) => T): Promise<T> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const stdout = use((server.address() as AddressInfo).port);
  await new Promise((resolve) => server.close(resolve));
  return stdout;
}
