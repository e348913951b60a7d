import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemWallClock, type WallClock } from "../../../src/base/clock.ts";
import { createTestFolder } from "./cli-emulator.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

export const hmacKey = Buffer.alloc(64, 7).toString("base64");

/** A wall clock that shortens waits to a tenth. */
export const impatientWall: WallClock = {
  ...systemWallClock,
  sleep: (ms, signal, how) => systemWallClock.sleep(ms >= 1_000 ? ms / 10 : ms, signal, how),
};

/** Behavior of a receiver. Default: correct behavior. */
export interface ReceiverRules {
  readonly key?: string | Buffer;
  readonly digest?: string;
  readonly signed?: (body: Buffer) => string | Buffer;
  readonly isGenuine?: (signature: string | undefined, expected: string) => boolean;
  /** Status of the response to an event with an invalid signature. */
  readonly rejection?: number;
  /** Responds to an event with a valid signature. */
  readonly respond?: (body: Buffer, response: ServerResponse, request: IncomingMessage) => void;
  /** Handles every event, including those with an invalid signature. Replaces `respond` and `rejection`. */
  readonly handle?: (request: GuardedRequest) => Promise<void>;
}

export interface GuardedRequest {
  readonly body: Buffer;
  readonly isGenuine: boolean;
  readonly response: ServerResponse;
}

export interface SignedReceiver {
  readonly url: string;
  /** Folder with the key in `hmac.key`. */
  readonly cwd: string;
  /** Bodies of the events with a valid signature, as received. */
  readonly bodies: readonly Buffer[];
  /** Runs `svc webhooks certify` against the receiver. */
  certify(argv?: readonly string[], options?: RunOptions): Promise<RunResult>;
}

/** Starts a receiver in this process, which is closed when the test ends. */
export async function startSignedReceiver(t: TestContext, rules: ReceiverRules = {}): Promise<SignedReceiver> {
  const { key = Buffer.from(hmacKey, "base64"), digest = "sha512", signed = (body) => body } = rules;
  const { isGenuine = (signature, expected) => signature === expected, rejection = 401, respond } = rules;
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const expected = createHmac(digest, key).update(signed(body)).digest("hex");
    const signature = request.headers["x-svc-webhook-content-hash"] as string | undefined;
    if (rules.handle) return rules.handle({ body, isGenuine: isGenuine(signature, expected), response });
    if (!isGenuine(signature, expected)) return void response.writeHead(rejection).end("bad signature");
    bodies.push(body);
    if (respond) respond(body, response, request);
    else response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const cwd = await createTestFolder(t);
  await writeFile(join(cwd, "hmac.key"), hmacKey);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  return { url, cwd, bodies, certify: (argv = [], options = {}) => runCertify(cwd, url, argv, options) };
}

/** Runs the command in a folder with the key in `hmac.key`. */
export const runCertify = (
  cwd: string,
  url: string,
  argv: readonly string[],
  { env, ...options }: RunOptions = {},
): Promise<RunResult> =>
  runCli(["webhooks", "certify", "--to", url, "--hmac-key-file", "hmac.key", ...argv], {
    cwd,
    env: { SVC_CONFIG_DIR: join(cwd, "config"), PATH: process.env.PATH, ...env },
    ...options,
  });
