import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { approveDevice } from "../../../../api/emulator/device-grants.ts";
import { createDeviceCode, redeemDeviceCode } from "../../../../api/router/device-grant.ts";
import { exchangeToken } from "../../../../api/router/oidc.ts";
import { systemWallClock } from "../../../../base/clock.ts";
import { isObject, lookupTable, toFields, tryParseJson } from "../../../../base/object.ts";
import { maxIdleConnectionMs } from "../../../../base/timing.ts";
import { pairHeaders, parseJsonBody, type RecordedResponse } from "../../../../verify/exchange.ts";
import { createRequestSender } from "../../../../verify/replay/send.ts";
import { withControlClient } from "../../../connection/emulator/emulator-access.ts";

/**
 * Response to one poll. `approve`, `deny` and `expire` change the emulator just before it responds. The other steps
 * replace its response. `lost` breaks the response off.
 */
export type PollStep = "pending" | "slow_down" | "reset" | "html-503" | "lost" | "approve" | "deny" | "expire";

/** Interval of the server in seconds. The minimum of RFC 8628 keeps runs short. */
export const minIntervalSeconds = 1;
/** Interval where it is checked. It exceeds those that clients assume, 1 and 5 s. */
export const checkedIntervalSeconds = 6;
/** RFC 8628, 3.5: each slow_down permanently increases the interval by 5 seconds. */
export const slowDownSeconds = 5;

const pending = "pending";

/** Responses to the polls of one client run, in order. The last response ends the sign-in. */
export const clientScenarios = lookupTable<readonly PollStep[]>({
  approval: [pending, pending, "approve"],
  "slow-down": [pending, "slow_down", pending, "slow_down", "approve"],
  expired: [pending, "expire"],
  denied: [pending, "deny"],
  reset: [pending, "reset", "approve"],
  "html-503": [pending, "html-503", "approve"],
  "lost-response": [pending, "lost", "approve"],
});

export interface OAuthRequest {
  /** Monotonic milliseconds at which the server observed the request. */
  readonly at: number;
  /** The earliest time at which the request can have arrived. */
  readonly earliestAt: number;
  readonly method: string;
  readonly encoding: "form" | "json" | "other";
  /** Parameters of the body. Undefined if the body is unreadable. */
  readonly fields: Readonly<Record<string, string>> | undefined;
  readonly query: Readonly<Record<string, string>>;
  /** Whether the client authenticates by a header. The parameter client_id is optional then. */
  readonly isAuthenticated: boolean;
  readonly contentType: string;
}

/** Observations of a client. All times are monotonic milliseconds. */
export interface ClientObservation {
  readonly deviceRequests: OAuthRequest[];
  readonly polls: ObservedPoll[];
  challenge?: { readonly deviceCode: string; readonly userCode: string; readonly verificationUri: string };
  endedAt?: number;
  /** Error code of the response that ended the sign-in, for example `expired_token`. */
  endError?: unknown;
  /** Arrival of the last request of the sign-in. */
  lastAt?: number;
  hasTokens: boolean;
  /** Program with a secret in its arguments. Null if there is none, undefined if the system does not show arguments. */
  exposedIn?: string | null;
}

interface ObservedPoll extends OAuthRequest {
  /** Scripted response. Undefined after the end of the script. */
  readonly step: PollStep | undefined;
}

export type ScriptedServer = Awaited<ReturnType<typeof startScriptedServer>>;

/** The routing service accepts device codes at both paths (DECISIONS.md, R35). */
const tokenPaths: readonly string[] = [redeemDeviceCode.path, exchangeToken.path];

/**
 * Starts an emulator behind a server that responds to the polls of one client by a script and forwards all other
 * requests.
 */
export async function startScriptedServer(script: readonly PollStep[], getEarliestTime: () => number) {
  const interval = script === clientScenarios.approval ? checkedIntervalSeconds : minIntervalSeconds;
  const observation: ClientObservation = { deviceRequests: [], polls: [], hasTokens: false };
  const server = createServer({ keepAliveTimeout: maxIdleConnectionMs }, (request, response) => {
    handleRequest(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { startEmulator } = await import("../../../../../emulator/index.ts");
  const emulator = await startEmulator({ publicUrl: url, clock: { mode: "manual" }, seed: "demo" });
  const sender = createRequestSender();
  const steps = [...script];
  const secrets: string[] = [];

  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const times = { at: systemWallClock.monotonicNow(), earliestAt: getEarliestTime() };
    const body = await readBody(request);
    const { method = "GET", url: target, rawHeaders } = request;
    const headers = pairHeaders(rawHeaders).filter(isEndToEnd);
    const relay = () => sender.send({ method, url: `${emulator.routerUrl}${target}`, headers, body });
    const path = (request.url ?? "/").split("?")[0]!;
    const oauth = parseOAuthRequest(request, body, times);
    if (path === createDeviceCode.path) sendResponse(response, await issueDeviceCode(oauth, relay));
    else if (tokenPaths.includes(path) && isPoll(oauth)) await respondToPoll(oauth, response, relay);
    else sendResponse(response, await relay());
  }

  async function issueDeviceCode(oauth: OAuthRequest, relay: Relay): Promise<RecordedResponse> {
    observation.lastAt = oauth.at;
    const relayedResponse = await relay();
    observation.deviceRequests.push(oauth);
    if (relayedResponse.status !== 200) return relayedResponse;
    const fields = toFields(parseJsonBody(relayedResponse));
    observation.challenge ??= {
      deviceCode: String(fields.device_code),
      userCode: String(fields.user_code),
      verificationUri: String(fields.verification_uri),
    };
    secrets.push(String(fields.device_code));
    return { ...relayedResponse, body: Buffer.from(JSON.stringify({ ...fields, interval })) };
  }

  async function respondToPoll(oauth: OAuthRequest, response: ServerResponse, relay: Relay): Promise<void> {
    observation.lastAt = oauth.at;
    findExposedSecret();
    const hasFirstCode = oauth.fields?.device_code === observation.challenge?.deviceCode;
    const step = hasFirstCode ? steps.shift() : undefined;
    observation.polls.push({ ...oauth, step });
    const scriptedResponse = step && scriptedResponses[step];
    if (scriptedResponse) return sendResponse(response, scriptedResponse);
    if (step === "reset") return void response.socket?.resetAndDestroy();
    if (step === "lost") {
      response.writeHead(400, [...jsonHeaders.flat(), "content-length", "33"]);
      return void response.write('{"error":"author', () => response.socket?.end());
    }
    await changeState(step);
    const relayedResponse = await relay();
    const fields = toFields(parseJsonBody(relayedResponse));
    if (hasFirstCode && steps.length === 0 && observation.endedAt === undefined) {
      observation.endedAt = systemWallClock.monotonicNow();
      observation.endError = fields.error;
    }
    if (relayedResponse.status === 200) {
      observation.hasTokens = true;
      for (const token of [fields.access_token, fields.refresh_token, fields.id_token])
        if (typeof token === "string" && token !== "") secrets.push(token);
    }
    sendResponse(response, relayedResponse);
  }

  /** Changes the state of the emulator just before it responds. */
  async function changeState(step: PollStep | undefined): Promise<void> {
    if (step === "expire") await emulator.clock.advance({ by: "PT16M" });
    if (step !== "approve" && step !== "deny") return;
    const params = { user_code: observation.challenge?.userCode ?? "" };
    const status = step === "approve" ? "AUTHORIZED" : "DENIED";
    await withControlClient(emulator.routerUrl, emulator.token, (client) =>
      client.call(approveDevice, { params, body: { status, email: "ada@northwind.example" } }),
    );
  }

  function findExposedSecret(): void {
    if (secrets.length > 0 && typeof observation.exposedIn !== "string")
      observation.exposedIn = findProgramWithArguments(secrets);
  }

  return {
    url,
    emulator,
    observation,
    /** Looks for secrets among the arguments of processes, as the server does at each poll. */
    findExposedSecret,
    async close() {
      server.close().closeAllConnections();
      sender.close();
      await emulator.close();
    },
  };
}

/** Reports whether a token request is a poll. A token refresh uses the same path but is not a poll. */
const isPoll = ({ fields, query }: OAuthRequest): boolean => {
  const { device_code, grant_type } = { ...query, ...fields };
  return device_code !== undefined || grant_type === undefined || grant_type.endsWith(":device_code");
};

type Relay = () => Promise<RecordedResponse>;

const jsonHeaders = [["content-type", "application/json"]] as const;
const createOAuthError = (error: string): RecordedResponse => ({
  status: 400,
  headers: jsonHeaders,
  body: Buffer.from(JSON.stringify({ error })),
});

/** Steps that replace the response of the emulator. */
const scriptedResponses: Readonly<Partial<Record<PollStep, RecordedResponse>>> = {
  pending: createOAuthError("authorization_pending"),
  slow_down: createOAuthError("slow_down"),
  "html-503": {
    status: 503,
    headers: [["content-type", "text/html"]],
    body: Buffer.from("<!DOCTYPE html><html><body><h1>Service Unavailable</h1></body></html>"),
  },
};

/** Headers of one connection (RFC 9110, 7.6.1), and the length, which is different after a change of the body. */
const connectionHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "content-length"]);

const isEndToEnd = ([name]: readonly [string, string]): boolean => !connectionHeaders.has(name.toLowerCase());

function sendResponse(response: ServerResponse, { status, headers, body }: RecordedResponse): void {
  const sentHeaders = [...headers.filter(isEndToEnd), ["content-length", String(body.length)]];
  response.writeHead(status, sentHeaders.flat()).end(body);
}

const maxBodyBytes = 1024 * 1024;

/** Reads the body of a request. Closes the connection if the body is larger than 1 MiB. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) request.destroy(new Error("The body is too large."));
  });
  return buffer(request);
}

/**
 * Finds a running program with one of these strings in its arguments, which every user of the machine can read. Returns
 * null if there is none, and undefined if the system does not show arguments as files. Reads are synchronous because
 * asynchronous reads delay the client on a busy machine.
 */
function findProgramWithArguments(texts: readonly string[]): string | null | undefined {
  if (!existsSync("/proc")) return undefined;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (texts.some((text) => line.includes(text))) return basename(line.split("\0")[0]!);
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
  return null;
}

function parseOAuthRequest(
  { method = "", url = "/", headers }: IncomingMessage,
  body: Buffer,
  times: Pick<OAuthRequest, "at" | "earliestAt">,
): OAuthRequest {
  const contentType = headers["content-type"] ?? "";
  const type = contentType.split(";")[0]!.trim().toLowerCase();
  const text = body.toString("utf8");
  const json = type === "application/json" ? tryParseJson(text) : undefined;
  const members =
    type === "application/x-www-form-urlencoded"
      ? [...new URLSearchParams(text)]
      : isObject(json)
        ? Object.entries(json).map(([name, member]) => [name, String(member)])
        : undefined;
  return {
    ...times,
    method,
    contentType,
    encoding: members === undefined ? "other" : json === undefined ? "form" : "json",
    fields: members && Object.fromEntries(members),
    query: Object.fromEntries(new URL(url, "http://localhost").searchParams),
    isAuthenticated: headers.authorization !== undefined,
  };
}
