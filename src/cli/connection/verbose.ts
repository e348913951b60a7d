import type { ExchangeObserver } from "../../client/client.ts";
import type { Host } from "../host.ts";
import type { Output } from "../output/output.ts";
import type { Globals } from "../parse/globals.ts";
import { redactBody, redactHeader, redactUrlValues } from "./redact.ts";
import { rememberSentSecrets } from "./sent-secrets.ts";

/** What --verbose and --debug print of every exchange, on standard error. Secrets never reach it. */
export function createObserver(globals: Globals, output: Output, host: Host): ExchangeObserver {
  const say = (line: string) => void output.warn(line);
  const reported = new Set<string>();
  return {
    onRequest(request) {
      rememberSentSecrets(host, request);
      if (!globals.debug) return;
      say(`> ${request.method} ${redactUrlValues(request.url)}`);
      for (const [name, value] of Object.entries(request.headers)) say(`> ${name}: ${redactHeader(name, value)}`);
      if (typeof request.body === "string") say(`> ${bodyLine(request.body)}`);
    },
    onResponse(request, { status, headers }, durationMs) {
      const id = headers["x-request-id"] ? ` ${headers["x-request-id"]}` : "";
      if (globals.verbose) say(`${request.method} ${redactUrlValues(request.url)} ${status} ${durationMs} ms${id}`);
      if (!globals.debug) return;
      for (const [name, value] of Object.entries(headers)) say(`< ${name}: ${redactHeader(name, value)}`);
    },
    onRetry(_request, { attempt, waitMs, reason }) {
      const seconds = (waitMs / 1_000).toFixed(1);
      if (reason === "status 429") void output.note(`rate limited, resuming in ${seconds} s`);
      else if (globals.verbose) say(`retry ${attempt} in ${seconds} s: ${reason}`);
    },
    onDrift(operationId, drift) {
      const lines = globals.verbose ? drift : [shortened(drift)];
      for (const line of lines.map((text) => `The response of ${operationId} differs from its declaration: ${text}`)) {
        // A command that polls would say the same each time.
        if (!reported.has(line)) void output.note(line);
        reported.add(line);
      }
    },
  };
}

const maxDifferences = 3;

const shortened = (drift: readonly string[]): string => {
  const shown = drift.slice(0, maxDifferences).join("; ");
  return drift.length <= maxDifferences ? shown : `${shown}; ${drift.length - maxDifferences} more with --verbose`;
};

function bodyLine(text: string): string {
  try {
    return JSON.stringify(redactBody(JSON.parse(text)));
  } catch {
    return `[${Buffer.byteLength(text)} bytes]`;
  }
}
