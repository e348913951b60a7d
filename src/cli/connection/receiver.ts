import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Liveness } from "../../api/emulator/lifecycle.ts";
import { runAfterDelay } from "../../base/clock.ts";
import { fingerprintMachine } from "../../files/machine.ts";
import { quoteShellWord } from "../process/examples.ts";
import { CommandFailedError } from "../process/failure.ts";
import { withControlClient } from "./emulator-access.ts";
import { defaultPort, explainDistrust, readRunFile } from "./run-file.ts";

/** One received POST, its body as raw bytes. */
export interface ReceivedPost {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A small HTTP receiver for webhooks on this machine. */
export interface Receiver {
  readonly url: string;
  /** Everything received so far, oldest first; empty when `answer` is given. */
  readonly received: readonly ReceivedPost[];
  close(): Promise<void>;
}

/** The receiver's response to one POST. */
export interface ReceiverResponse {
  readonly status: number;
  readonly body?: string;
  readonly contentType?: string;
}

export interface ReceiverOptions {
  /** 0: any free port. */
  readonly port?: number;
  /** The response to every request. */
  readonly status?: number;
  /** Called with a request whose body is too large, which is answered 413 and not read on. */
  readonly onTooLarge?: (limitBytes: number) => void;
  /** Decides each response; nothing is stored then. */
  readonly answer?: (received: ReceivedPost) => Promise<ReceiverResponse>;
}

/** A delivery is a few kilobytes; more is not a webhook. */
const maxBodyBytes = 8 * 1024 * 1024;

/**
 * How long a rejected sender may take to read the reason: a connection that ends with unread bytes takes the response
 * with it.
 */
const lingerMs = 2_000;

/** For a whole request: one that drips is not a delivery. */
const requestTimeoutMs = 30_000;

/** Bounds the memory of concurrent requests, too; the service sends far fewer at a time. */
const maxConnections = 256;

/** Listens on loopback. Rejects with the system's error where the port is taken. */
export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { port = 0, status = 200, answer, onTooLarge } = options;
  const received: ReceivedPost[] = [];
  const answering = new Set<Promise<void>>();
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      if (response.headersSent) return;
      size += chunk.length;
      if (size <= maxBodyBytes) return void chunks.push(chunk);
      chunks.length = 0;
      onTooLarge?.(maxBodyBytes);
      response.writeHead(413).end("too large for a webhook");
      request.pause();
      runAfterDelay(lingerMs, () => request.destroy());
    });
    request.on("end", () => {
      if (size > maxBodyBytes) return;
      const { method = "", url = "/", headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks) };
      if (!answer) {
        received.push(one);
        return void reply(response, { status, body: status < 300 ? "ok" : "no" });
      }
      const replied = answer(one)
        .catch((): ReceiverResponse => ({ status: 500 }))
        .then((given) => reply(response, given))
        .finally(() => answering.delete(replied));
      answering.add(replied);
    });
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async close() {
      // The sender should not take a pending response for a failure.
      await Promise.all(answering);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Resolves when the response is sent, or its connection has ended. */
function reply(response: ServerResponse, { status, body = "", contentType = "text/plain" }: ReceiverResponse) {
  return new Promise<void>((done) => {
    response.once("close", done).once("finish", done);
    response.writeHead(status, { "content-type": contentType }).end(body);
  });
}

/** A process that does not answer at once is not ours. */
const patienceMs = 2_000;

/** The description of the emulator that listens at that address; undefined if another program does, or none. */
export async function probeListener(url: string): Promise<Liveness | undefined> {
  const { checkLiveness } = await import("../../api/emulator/lifecycle.ts");
  const once = { retries: 0, timeoutMs: patienceMs };
  return withControlClient(url, undefined, (client) => client.call(checkLiveness, {}, once)).catch(() => undefined);
}

/** How to end an emulator that nothing of this folder or this shell leads to. */
interface StopInstructions {
  /** Path of its run file, which may be gone; undefined if it has none. */
  readonly runFile: string | undefined;
  /** Whether its run file is no longer there: no command of ours reaches it. */
  readonly isLost: boolean;
  /** In words, without the full stop: `kill 4711 ends it`. */
  readonly words: string;
}

/** How to end the emulator that says that of itself and listens at that address. */
export async function findStopInstructions(
  { instance_id, process: told }: Liveness,
  url: string,
): Promise<StopInstructions> {
  if (told === undefined || told.machine !== (await fingerprintMachine())) {
    const words = `To find its process ID, run lsof -i :${new URL(url).port} on its machine`;
    return { runFile: undefined, isLost: false, words };
  }
  const runFile = told.run_file ?? undefined;
  const isTold = runFile !== undefined && (await readRunFile(runFile))?.instanceId === instance_id;
  const state = runFile?.replace(/\.run$/, "");
  const words =
    isTold && state !== runFile
      ? `To stop it, run svc emulator stop --file ${quoteShellWord(state!)}`
      : `To stop it, run kill ${told.pid}`;
  return { runFile, isLost: runFile !== undefined && !isTold, words };
}

/**
 * The hint if no run file names an emulator on that state: one may listen at the usual port all the same, whose files
 * were removed while it ran, or which belongs to another folder.
 */
export async function createNoEmulatorError(state: string, runFile: string): Promise<CommandFailedError> {
  const url = `http://127.0.0.1:${defaultPort}`;
  const found = await probeListener(url);
  const way = found && (await findStopInstructions(found, url));
  if (way?.isLost && way.runFile === runFile) {
    const message = `The emulator at ${url} cannot be used, because its files were removed while it ran (state: ${state}).`;
    return new CommandFailedError("failed", "emulator_lost", message, { hint: `${way.words}. Its data is lost.` });
  }
  const distrust = await explainDistrust(runFile);
  if (distrust !== undefined) {
    const message = `No emulator is running with the state ${state}: the run file is ignored, because ${distrust}.`;
    const hint = `If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${runFile}.`;
    return new CommandFailedError("not-found", "no_emulator", message, { hint });
  }
  const other = way ? ` Another emulator listens at ${url}. ${way.words}.` : "";
  return new CommandFailedError("not-found", "no_emulator", `No emulator is running (state: ${state}).`, {
    hint: `Use --file with the state of a running emulator, or set SVC_EMULATOR_URL and SVC_EMULATOR_TOKEN.${other}`,
    next: other === "" ? ["emulator", "start"] : ["emulator", "start", "--port", "0"],
  });
}
