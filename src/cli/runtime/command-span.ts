import { buildOtlpDocument, readOtelSettings } from "../../base/otel-settings.ts";
import { createSpan, writeTraceparent } from "../../base/trace-context.ts";
import { svcVersion } from "../../base/version.ts";
import { buildChildVariables, openTransport, readParentContext } from "../connection/http.ts";
import { explainError } from "../process/exit.ts";
import type { Host } from "../process/host.ts";

const maxExportMs = 1_000;

type TracedHost = Pick<Host, "env" | "wall">;

/**
 * Starts the OpenTelemetry span of a command. Its parent is the span of TRACEPARENT. Without one, the span is the root
 * of a trace. Returns undefined if the variables disable tracing. Invalid variables cause neither output nor failure.
 */
export function startCommandSpan({ env, wall }: TracedHost, words: string) {
  const settings = readOtelSettings(env, "svc").settings;
  if (!settings) return undefined;
  const parent = readParentContext(env);
  const self = createSpan(parent);
  const start = wall.now();

  /** Sends the span within a second, or until `forceSignal` is aborted. Never rejects. */
  async function end(exit: number, error: unknown, forceSignal: AbortSignal): Promise<void> {
    const { url, headers, resource, timeoutMs } = settings!;
    const failed = exit === 0 ? undefined : error === undefined ? `exit ${exit}` : explainError(error).code;
    const span = {
      ...self,
      parent: parent?.span ?? null,
      name: `svc ${words}`,
      kind: "internal",
      start,
      end: wall.now(),
      attributes: { "svc.command": words, "process.exit.code": exit, "error.type": failed ?? null },
      failed,
    } as const;
    const body = JSON.stringify(buildOtlpDocument([span], resource, { name: "svc", version: svcVersion }));
    const limitMs = Math.min(maxExportMs, timeoutMs);
    try {
      const transport = await openTransport({ env }, { timeoutMs: limitMs, maxResponseBytes: undefined });
      const type = { "content-type": "application/json" };
      try {
        const request = { method: "POST", url, headers: { ...headers, ...type }, body } as const;
        await transport.send(request, { timeoutMs: limitMs, signal: forceSignal });
      } finally {
        await transport.close();
      }
    } catch {
      // An unreachable collector does not cause a failure.
    }
  }

  return { variables: buildChildVariables(env, writeTraceparent(self)), end };
}
