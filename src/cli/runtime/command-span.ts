import { buildOtlpDocument, type OtelSettings, readOtelSettings } from "../../base/otel-settings.ts";
import { createSpan, type TraceContext, writeTraceparent } from "../../base/trace-context.ts";
import { svcVersion } from "../../base/version.ts";
import { buildChildVariables, openTransport, readParentContext } from "../connection/http.ts";
import { explainError } from "../process/exit.ts";
import type { Host } from "../process/host.ts";

const maxExportMs = 1_000;

type TracedHost = Pick<Host, "env" | "wall">;

/**
 * OpenTelemetry span of a command. Its parent is the span of TRACEPARENT. Without one, the span is the root of a trace.
 */
export class CommandSpan {
  readonly #host: TracedHost;
  readonly #words: readonly string[];
  readonly #settings: OtelSettings;
  readonly #parent: TraceContext | undefined;
  readonly #self: TraceContext;
  readonly #startedAt: number;

  private constructor(host: TracedHost, words: readonly string[], settings: OtelSettings) {
    this.#host = host;
    this.#words = words;
    this.#settings = settings;
    this.#parent = readParentContext(host.env);
    this.#self = createSpan(this.#parent);
    this.#startedAt = host.wall.now();
  }

  /** Returns undefined if the variables disable tracing. Invalid variables cause neither output nor failure. */
  static start(host: TracedHost, words: readonly string[]): CommandSpan | undefined {
    const { read } = readOtelSettings(host.env, "svc");
    return read && new CommandSpan(host, words, read);
  }

  get variables(): TracedHost["env"] {
    return buildChildVariables(this.#host.env, writeTraceparent(this.#self));
  }

  /**
   * Sends the span within a second, or until `cut` is aborted. Never rejects. `error` is the exception of the command.
   */
  async end(exit: number, error: unknown, cut: AbortSignal): Promise<void> {
    const { wall, env } = this.#host;
    const { url, headers, resource, timeoutMs } = this.#settings;
    const words = this.#words.join(" ");
    const failure = exit === 0 ? undefined : error === undefined ? `exit ${exit}` : explainError(error).code;
    const span = {
      ...this.#self,
      parent: this.#parent?.span ?? null,
      name: `svc ${words}`,
      kind: "internal",
      start: this.#startedAt,
      end: wall.now(),
      attributes: { "svc.command": words, "process.exit.code": exit, "error.type": failure ?? null },
      failed: failure,
    } as const;
    const body = JSON.stringify(buildOtlpDocument([span], resource, { name: "svc", version: svcVersion }));
    const limitMs = Math.min(maxExportMs, timeoutMs);
    try {
      const transport = await openTransport({ env }, { timeoutMs: limitMs, maxAnswerBytes: undefined });
      const request = {
        method: "POST",
        url,
        headers: { ...headers, "content-type": "application/json" },
        body,
      } as const;
      try {
        await transport.send(request, { timeoutMs: limitMs, signal: cut });
      } finally {
        await transport.close();
      }
    } catch {
      // An unreachable collector does not cause a failure.
    }
  }
}
