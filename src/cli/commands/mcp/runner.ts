import { redactText, redactUrl } from "../../../api/secrets.ts";
import { restoreExactNumbers, stringifyExact } from "../../../base/json.ts";
import { parseJson } from "../../../client/body.ts";
import type { CapturedRun, Context } from "../../command.ts";
import { explainError, redactExplanation, toExplanationJson } from "../../process/exit.ts";
import { isSecretField } from "../../process/redact.ts";
import type { ListedCommand } from "./operations.ts";

/** The result of a tool: the text that the command line prints, without secrets. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

/** Runs command lines for tools: at the services of the server's own command line, with --json, one after the other. */
export class Runner {
  readonly #context: Context;
  #last: Promise<unknown> = Promise.resolve();
  #commands: Promise<readonly ListedCommand[]> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Every command, as `svc help --json` lists it. */
  listCommands(): Promise<readonly ListedCommand[]> {
    this.#commands ??= this.#context.svc(["help", "--json"]).then(({ out }) => JSON.parse(out).commands);
    return this.#commands;
  }

  /** The command line's standard output; if it is empty, its error. */
  async run(argv: readonly string[], stdin?: string): Promise<Answer> {
    const { host, globals, svc } = this.#context;
    const { profile, baseUrl, emulator } = globals;
    const service = [
      ...(profile === undefined ? [] : [`--profile=${profile}`]),
      ...(baseUrl === undefined ? [] : [`--base-url=${baseUrl}`]),
      ...(emulator ? ["--emulator"] : []),
    ];
    const line = [...argv, "--json", "--quiet", "--no-input", ...service];
    // In their order: of two that change something, the second may build on the first.
    const ran = this.#last.then(() => svc(line, stdin === undefined ? {} : { stdin }));
    this.#last = ran.catch(() => {});
    return answerOf(await ran, collectSecrets(host.env));
  }

  /** Resolves once no command line runs. */
  async waitUntilIdle(): Promise<void> {
    await this.#last;
  }
}

function answerOf({ exit, out, err }: CapturedRun, secrets: readonly string[]): Answer {
  if (out.trim() !== "" || exit === 0) return { text: hideSecrets(out, secrets), isError: false };
  // Warnings may be before it.
  const error = err.slice(Math.max(0, err.lastIndexOf('{"error":')));
  return { text: hideSecrets(error, secrets), isError: true };
}

/** The command line's message about it. */
export const toErrorAnswer = (error: unknown): Answer => ({
  text: `${JSON.stringify(toExplanationJson(redactExplanation(explainError(error))))}\n`,
  isError: true,
});

export const toDataAnswer = (value: unknown): Answer => ({
  text: `${JSON.stringify(value, null, 2)}\n`,
  isError: false,
});

/** As the control plane hides secrets: hidden values stay as they are. */
const mask = "[redacted]";

/** Fields of answers that are called like secrets and hold none: of errors and of two states that differ. */
const harmless: ReadonlySet<string> = new Set(["code", "key", "concurrency_key"]);

/** Links that act as a person. */
const isLink = (name: string): boolean => /^(?:link|authorization_url|redirect_url|user_code)$/.test(name);

const isSecret = (name: string): boolean => isLink(name) || (isSecretField(name) && !harmless.has(name));

/** Variables whose values never are in a response, whatever repeats them. */
const secretVariables =
  /^(?:SVC_(?:CLIENT_SECRET|CLUSTER_KEY|TOKEN|BASIC_AUTH|WEBHOOK_HMAC_KEY|EMULATOR_TOKEN|STORE)|SVC_\w+_(?:SECRET|TOKEN|PASSWORD)|PGPASSWORD|OTEL_EXPORTER_OTLP_\w*HEADERS)$/;
/** Shorter ones are part of ordinary words. */
const shortestSecret = 6;

/** The secrets of an environment; those of each cluster are in a document. */
function collectSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  const own = Object.entries(env).flatMap(([name, value]) =>
    secretVariables.test(name) && value !== undefined ? [value] : [],
  );
  const ofClusters = [...(env.SVC_CLUSTERS ?? "").matchAll(/"(?:client_secret|cluster_key)"\s*:\s*"([^"]+)"/g)];
  return [...own, ...ofClusters.map(([, value]) => value!)].filter((one) => one.length >= shortestSecret);
}

/** A command's output without secrets: by the names of fields, in URLs, and these. */
function hideSecrets(text: string, secrets: readonly string[]): string {
  const shown = hidden(text);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, mask), shown);
}

function hidden(text: string): string {
  let value: unknown;
  try {
    value = restoreExactNumbers(text, parseJson(text));
  } catch {
    return redactText(text);
  }
  const found = { secrets: 0 };
  const without = maskFields(value, "", found);
  return found.secrets === 0 ? text : `${stringifyExact(without, text.includes("\n ") ? 2 : undefined)}\n`;
}

function maskFields(value: unknown, name: string, found: { secrets: number }): unknown {
  if (typeof value === "string") {
    const shown = isSecret(name) ? mask : redactText(redactUrl(value));
    if (shown !== value) found.secrets += 1;
    return shown;
  }
  if (Array.isArray(value)) return value.map((one) => maskFields(one, name, found));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  // In a difference of two states, the name of a field is next to its values.
  const { field } = value as { readonly field?: unknown };
  const inherited = isSecret(name) ? name : typeof field === "string" && isSecret(field) ? field : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "field" ? inner : maskFields(inner, inherited ?? key, found),
    ]),
  );
}
