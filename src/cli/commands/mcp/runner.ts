import { redactText, redactUrl } from "../../../api/secrets.ts";
import { Mutex } from "../../../base/concurrency.ts";
import { restoreExactNumbers, stringifyExact } from "../../../base/json.ts";
import { parseJson } from "../../../client/body.ts";
import type { CapturedRun, Context } from "../../command.ts";
import { formatTargetFlags } from "../../parse/argv.ts";
import { explainError, redactExplanation, toExplanationJson } from "../../process/exit.ts";
import { isSecretField, minSecretLength } from "../../process/redact.ts";
import type { ListedCommand } from "./operations.ts";

/** Result of a tool: the output of its command line, without secrets. */
export interface McpToolResult {
  readonly text: string;
  readonly isError: boolean;
}

export type ToolRunner = ReturnType<typeof createToolRunner>;

/** Runs command lines for tools one by one, with JSON output and the services of the server's own command line. */
export function createToolRunner({ host, globals, svc }: Context) {
  const mutex = new Mutex();
  let commands: Promise<readonly ListedCommand[]> | undefined;
  return {
    listCommands(): Promise<readonly ListedCommand[]> {
      commands ??= svc(["help", "--json"]).then(({ stdout }) => JSON.parse(stdout).commands);
      return commands;
    },
    /** Runs a command line. Resolves with its standard output, or with its error if the output is empty. */
    async run(argv: readonly string[], stdin?: string, signal?: AbortSignal): Promise<McpToolResult> {
      const line = [...argv, "--json", "--quiet", "--no-input", ...formatTargetFlags(globals)];
      // Command lines run in order, because a change can depend on the previous one.
      const run = await mutex.runExclusive(() => {
        signal?.throwIfAborted();
        return svc(line, { ...(stdin !== undefined && { stdin }), ...(signal && { signal }) });
      });
      return toResult(run, collectSecrets(host.env));
    },
  };
}

function toResult({ exit, stdout, stderr }: CapturedRun, secrets: readonly string[]): McpToolResult {
  if (stdout.trim() !== "" || exit === 0) return { text: hideSecrets(stdout, secrets), isError: false };
  // Warnings can precede the error.
  const error = stderr.slice(Math.max(0, stderr.lastIndexOf('{"error":')));
  return { text: hideSecrets(error, secrets), isError: true };
}

export const toErrorResult = (error: unknown): McpToolResult => ({
  text: `${JSON.stringify(toExplanationJson(redactExplanation(explainError(error))))}\n`,
  isError: true,
});

export const toDataResult = (value: unknown): McpToolResult => ({
  text: `${JSON.stringify(value, null, 2)}\n`,
  isError: false,
});

/** The control plane uses the same mask, so that masked values stay unchanged. */
const mask = "[redacted]";

/** Fields with names of secrets that contain none: fields of errors and of state differences. */
const nonSecretFields: ReadonlySet<string> = new Set(["code", "key", "concurrency_key"]);

/** Names of fields with links that act as a user, or with headers that often authenticate the sender of a webhook. */
const accessFieldPattern = /^(?:link|authorization_url|redirect_url|user_code|custom_headers)$/;
const isSecret = (name: string): boolean =>
  accessFieldPattern.test(name) || (isSecretField(name) && !nonSecretFields.has(name));

/** Environment variables whose values must not appear in a response. */
const secretVariablePattern =
  /^(?:SVC_(?:CLIENT_SECRET|CLUSTER_KEY|TOKEN|BASIC_AUTH|WEBHOOK_HMAC_KEY|EMULATOR_TOKEN|STORE)|SVC_\w+_(?:SECRET|TOKEN|PASSWORD)|PGPASSWORD|OTEL_EXPORTER_OTLP_\w*HEADERS)$/;

/** Collects the secrets of environment variables, including secrets of clusters in SVC_CLUSTERS. */
function collectSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  const ownSecrets = Object.entries(env).flatMap(([name, value]) =>
    secretVariablePattern.test(name) ? (value?.trim() ?? []) : [],
  );
  const clusterSecrets = [...(env.SVC_CLUSTERS ?? "").matchAll(/"(?:client_secret|cluster_key)"\s*:\s*"([^"]+)"/g)];
  return [...ownSecrets, ...clusterSecrets.map(([, value]) => value!)].filter(
    (secret) => secret.length >= minSecretLength,
  );
}

/** Removes secrets from the output of a command: secret fields, secrets in URLs, and the given values. */
function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), redactOutput(text));
}

/** Masks secret fields and secrets in URLs. Preserves the format of output without secrets. */
function redactOutput(text: string): string {
  let value: unknown;
  try {
    value = restoreExactNumbers(text, parseJson(text));
  } catch {
    const lines = text.split("\n");
    // Some commands print a document per line.
    return lines.length === 1 ? redactText(text) : lines.map((line) => redactOutput(line).trimEnd()).join("\n");
  }
  const format = (document: unknown) => stringifyExact(document, text.includes("\n ") ? 2 : undefined);
  const redactedText = format(maskFields(value, ""));
  return format(value) === redactedText ? text : `${redactedText}\n`;
}

function maskFields(value: unknown, name: string): unknown {
  if (typeof value === "string") return isSecret(name) ? mask : redactText(redactUrl(value));
  if (Array.isArray(value)) return value.map((item) => maskFields(item, name));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  // In a state difference, the name of a field is next to its values.
  const { field } = value as { readonly field?: unknown };
  const secretName = isSecret(name) ? name : typeof field === "string" && isSecret(field) ? field : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === "field" ? inner : maskFields(inner, secretName ?? key)]),
  );
}
