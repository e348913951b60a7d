import { waitUntilAborted } from "../../../base/concurrency.ts";
import { pluralize } from "../../../base/text.ts";
import { createIntegerFlag, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { openRecordingProxy } from "../../../verify/proxy.ts";
import type { RawExchange } from "../../../verify/recorder.ts";
import { type Command, defineCommand } from "../../command.ts";
import { parseBaseUrlFlag } from "../../parse/globals.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { openRecording } from "./open-recorder.ts";

/** An empty host would be every address of this machine. */
const createHostError = (address: string, cause?: unknown): UsageError =>
  new UsageError(`--host must be an address of this machine, got "${address}"`, { cause });

const flags = [
  createTextFlag("to", "URL", "Base URL of the service (default: the base URL of the profile)"),
  createTextFlag("out", "FOLDER", "Folder of the corpus"),
  createTextFlag("host", "ADDRESS", "Address to listen on", { default: "127.0.0.1" }),
  createIntegerFlag("port", "Port to listen on; 0 for a free one", { min: 0, max: 65_535, default: 0 }),
  createIntegerFlag("count", "Stop after this number of exchanges", { min: 1 }),
] as const satisfies readonly FlagSpec[];

const verifyProxy = defineCommand({
  words: ["verify", "proxy"],
  summary: "Record the traffic of other programs with a service",
  description:
    "Listens on this machine, forwards each request to the service byte for byte, and records it with its response. Secrets, e-mail addresses and names are replaced before anything is written. To record webhooks too, run svc webhooks listen --save with the same folder. Ctrl-C completes the corpus. With --json, each exchange is a line of JSON.",
  flags,
  examples: [["Record the requests of your app", "verify proxy --to https://api.example.com --out corpus --port 8080"]],
  async run({ flags: flagValues }, context) {
    const { output, signal, host, onEnd } = context;
    const { out: folderName, count = Number.POSITIVE_INFINITY, port = 0, host: address = "127.0.0.1" } = flagValues;
    if (folderName === undefined) throw new InputRequiredError("out", "--out is required: the folder of the corpus");
    const to =
      flagValues.to === undefined
        ? (await context.target("contracts")).baseUrls.contracts
        : parseBaseUrlFlag(flagValues.to, "--to");
    if (to === undefined) throw new InputRequiredError("to", "--to is required: the base URL of the service");
    if (address === "") throw createHostError(address);
    const { recorder, end } = await openRecording(context, folderName);
    const pendingWrites: Promise<unknown>[] = [];
    const stopController = new AbortController();
    const endSignal = AbortSignal.any([signal, stopController.signal]);
    const store = async (exchange: RawExchange): Promise<void> => {
      const file = await recorder.add(exchange);
      const { method, target } = exchange.request;
      const { status } = exchange.response;
      const line = `${method} ${target.split("?")[0]} ${status} ${file}`;
      await output.printEvent({ type: "exchange", file, status }, line);
    };
    let exchangeCount = 0;
    let skippedCount = 0;
    let failure: unknown;
    const proxy = await openRecordingProxy({
      to,
      host: address,
      port,
      now: () => host.wall.now(),
      onExchange(exchange) {
        exchangeCount += 1;
        if (exchangeCount > count) return;
        pendingWrites.push(
          store(exchange).catch((error: unknown) => {
            failure ??= error;
            stopController.abort();
          }),
        );
        if (exchangeCount === count) stopController.abort();
      },
      onSkipped(reason) {
        skippedCount += 1;
        pendingWrites.push(output.warn(`Not recorded: ${reason}`));
      },
    }).catch((cause: NodeJS.ErrnoException) => {
      if (cause.syscall === "getaddrinfo" || cause.code === "EADDRNOTAVAIL") throw createHostError(address, cause);
      if (!["EADDRINUSE", "EACCES"].includes(cause.code ?? "")) throw cause;
      const hint = "Choose another one with --port, or leave it out.";
      const message = `Cannot listen on ${address}, port ${port}: ${cause.code}.`;
      throw new CommandFailedError("failed", "port_taken", message, { hint, cause });
    });
    onEnd(() => proxy.close());
    const { origin } = new URL(to);
    if (!["127.0.0.1", "localhost", "::1"].includes(address))
      await output.warn(`warning: listening on ${address}: other machines can send requests to ${origin} through it`);
    if (output.format !== "table") await output.printDocument({ type: "ready", url: proxy.url });
    await output.note(`Recording on ${proxy.url}; requests go to ${origin} (press Ctrl-C to stop)`);
    await waitUntilAborted(endSignal);
    await proxy.close();
    await Promise.all(pendingWrites);
    await end();
    if (failure !== undefined) throw failure;
    if (skippedCount > 0) await output.warn(`${pluralize(skippedCount, "exchange")} not recorded`);
    await output.note(
      `Recorded ${pluralize(recorder.count, "exchange")} in ${folderName}. Check with: svc verify scan ${folderName}`,
    );
    signal.throwIfAborted();
  },
});

export const commands: readonly Command[] = [verifyProxy];
