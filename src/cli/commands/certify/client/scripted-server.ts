import { readdirSync, readFileSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import type { Emulator } from "../../../../../emulator/index.ts";
import { approveDevice } from "../../../../api/emulator/device-grants.ts";
import { createDeviceCode, redeemDeviceCode } from "../../../../api/router/device-grant.ts";
import { exchangeToken } from "../../../../api/router/oidc.ts";
import { systemWallClock } from "../../../../base/clock.ts";
import { toFields } from "../../../../base/object.ts";
import { withControlClient } from "../../../connection/emulator/emulator-access.ts";
import { type OAuthRequest, parseOAuthRequest } from "./oauth-request.ts";
import { intervalSeconds, type Step } from "./scenarios.ts";

/** The server's observations of a client. All times are monotonic milliseconds. */
export interface Observation {
  readonly deviceRequests: OAuthRequest[];
  readonly polls: Poll[];
  /** Time of the first device authorization. */
  challenge?: Challenge;
  /** Time at which the script ended. */
  endedAt?: number;
  /** Arrival of the last request of the flow. */
  lastAt?: number;
  hasTokens: boolean;
  /** The command line that held a secret; null if none did, undefined if the system does not show it. */
  exposedIn?: string | null;
}

export interface Challenge {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUri: string;
}

export interface Poll extends OAuthRequest {
  /** The response; undefined after the end of the script. */
  readonly step: Step | undefined;
}

export interface ScriptedServer {
  readonly url: string;
  readonly emulator: Emulator;
  readonly observation: Observation;
  close(): Promise<void>;
}

/** Maximum size of a device's request. */
const maxBodyBytes = 64 * 1024;
const devicePath = createDeviceCode.path;
/** The routing service accepts device codes at both addresses (DECISIONS.md, R35). */
const tokenPaths: readonly string[] = [redeemDeviceCode.path, exchangeToken.path];

/** A new emulator behind a server that answers the polls of one client by a script and forwards everything else. */
export async function startScriptedServer(
  script: readonly Step[],
  heartbeat: { readonly earliest: number },
): Promise<ScriptedServer> {
  const observation: Observation = { deviceRequests: [], polls: [], hasTokens: false };
  const server = createServer((request, response) => {
    handleRequest(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { startEmulator } = await import("../../../../../emulator/index.ts");
  const emulator = await startEmulator({ publicUrl: url, clock: { mode: "manual" }, seed: "demo" });
  const steps = [...script];
  const secrets: string[] = [];

  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const times = { at: systemWallClock.monotonicNow(), earliestAt: heartbeat.earliest };
    const body = await readBody(request);
    const path = (request.url ?? "/").split("?")[0]!;
    const oauth = parseOAuthRequest(request, body, times);
    if (path === devicePath) return handleDeviceRequest(request, response, body, oauth);
    if (tokenPaths.includes(path) && isPoll(oauth)) return answerPoll(request, response, body, oauth);
    send(response, await forward(request, body, emulator.routerUrl));
  }

  async function handleDeviceRequest(
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    oauth: OAuthRequest,
  ) {
    observation.lastAt = oauth.at;
    const answered = await forward(request, body, emulator.routerUrl);
    observation.deviceRequests.push({ ...oauth, status: answered.status });
    if (answered.status !== 200) return send(response, answered);
    const fields = toFields(JSON.parse(answered.body.toString("utf8")));
    observation.challenge ??= {
      deviceCode: String(fields.device_code),
      userCode: String(fields.user_code),
      verificationUri: String(fields.verification_uri),
    };
    secrets.push(String(fields.device_code));
    send(response, { ...answered, body: Buffer.from(JSON.stringify({ ...fields, interval: intervalSeconds })) });
  }

  async function answerPoll(request: IncomingMessage, response: ServerResponse, body: Buffer, oauth: OAuthRequest) {
    observation.lastAt = oauth.at;
    lookForSecrets();
    const hasFirstCode = oauth.fields?.device_code === observation.challenge?.deviceCode;
    const step = hasFirstCode ? steps.shift() : undefined;
    const poll = { ...oauth, step };
    observation.polls.push(poll);
    const isSent = await playStep(step, response);
    if (isSent) return;
    const answered = await forward(request, body, emulator.routerUrl);
    if (hasFirstCode && steps.length === 0) observation.endedAt ??= systemWallClock.monotonicNow();
    if (answered.status === 200) {
      observation.hasTokens = true;
      const { access_token } = toFields(JSON.parse(answered.body.toString("utf8")));
      if (typeof access_token === "string" && access_token !== "") secrets.push(access_token);
    }
    send(response, answered);
  }

  /** Responds instead of the emulator, or changes its state first. Resolves with whether the response is sent. */
  async function playStep(step: Step | undefined, response: ServerResponse): Promise<boolean> {
    switch (step) {
      case "pending":
        send(response, createOAuthError("authorization_pending"));
        return true;
      case "slow_down":
        send(response, createOAuthError("slow_down"));
        return true;
      case "reset":
        response.socket?.resetAndDestroy();
        return true;
      case "lost":
        response.writeHead(400, { ...jsonHeaders, "content-length": "33" });
        response.write('{"error":"author', () => response.socket?.end());
        return true;
      case "html-503":
        send(response, { status: 503, headers: { "content-type": "text/html" }, body: Buffer.from(unavailablePage) });
        return true;
      case "approve":
        await decideCode("AUTHORIZED");
        return false;
      case "deny":
        await decideCode("DENIED");
        return false;
      case "expire":
        await emulator.clock.advance({ by: "PT16M" });
        return false;
      default:
        return false;
    }
  }

  async function decideCode(status: "AUTHORIZED" | "DENIED"): Promise<void> {
    const params = { user_code: observation.challenge?.userCode ?? "" };
    await withControlClient(emulator.routerUrl, emulator.token, (client) =>
      client.call(approveDevice, { params, body: { status, email: "ada@northwind.example" } }),
    );
  }

  function lookForSecrets(): void {
    if (secrets.length === 0 || typeof observation.exposedIn === "string") return;
    const found = findArguments(secrets);
    if (found !== undefined) observation.exposedIn = found;
  }

  return {
    url,
    emulator,
    observation,
    async close() {
      server.close();
      server.closeAllConnections();
      await emulator.close();
    },
  };
}

/** A refresh of tokens goes to the same address and does not count. */
const isPoll = ({ fields, query }: OAuthRequest): boolean => {
  const { device_code, grant_type } = { ...query, ...fields };
  if (device_code !== undefined || grant_type?.endsWith(":device_code")) return true;
  return grant_type === undefined;
};

interface ForwardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const jsonHeaders = { "content-type": "application/json" };
const unavailablePage =
  "<!DOCTYPE html><html><head><title>503 Service Unavailable</title></head><body><h1>Service Unavailable</h1></body></html>";

const createOAuthError = (error: string): ForwardedAnswer => ({
  status: 400,
  headers: jsonHeaders,
  body: Buffer.from(JSON.stringify({ error })),
});

function send(response: ServerResponse, { status, headers, body }: ForwardedAnswer): void {
  response.writeHead(status, { ...headers, "content-length": String(body.length) }).end(body);
}

/** Headers of one connection (RFC 9110, 7.6.1), or invalid for the changed body. */
const ownHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "content-length"]);

function forward({ method, url, headers }: IncomingMessage, body: Buffer, to: string): Promise<ForwardedAnswer> {
  const keptHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.has(name)));
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${to}${url}`,
      { method, headers: { ...keptHeaders, "content-length": body.length } },
      (proxied) => {
        const { statusCode: status = 502 } = proxied;
        const pairs = Object.entries(proxied.headers).flatMap(([name, value]) =>
          value === undefined || ownHeaders.has(name) ? [] : [[name, [value].flat().join(", ")] as const],
        );
        readBody(proxied).then(
          (content) => resolve({ status, headers: Object.fromEntries(pairs), body: content }),
          reject,
        );
      },
    );
    sent.on("error", reject).end(body);
  });
}

async function readBody(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes * 16) throw new Error("The body is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Finds a running program with one of these strings among its arguments, which every user of the machine can read.
 * Returns null if there is none, and undefined if the system does not show arguments as files. These files are in
 * memory and the client waits: synchronous reads take milliseconds, asynchronous ones much longer on a busy machine.
 */
function findArguments(texts: readonly string[]): string | null | undefined {
  const pids = listProcesses();
  if (pids.length === 0) return undefined;
  for (const pid of pids) {
    const line = readArguments(pid);
    if (texts.some((text) => line.includes(text))) return basename(line.split("\0")[0]!);
  }
  return null;
}

function listProcesses(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Empty if the process has ended or belongs to another user. */
function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
