import { join } from "node:path";
import type { Emulator } from "../../../../emulator/index.ts";
import { isSecretName, redactText } from "../../../api/secrets.ts";
import { toFields } from "../../../base/object.ts";
import { type Client, createClient } from "../../../client/client.ts";
import { createTransport } from "../../../client/transport.ts";
import { getDefaultScheme, getSignatureHeader } from "../../../schemes/webhook-schemes.ts";
import type { CapturedRun, Context } from "../../command.ts";
import {
  collectSecrets,
  createEmulatorVariables,
  getMainCluster,
} from "../../connection/emulator/emulator-variables.ts";
import {
  openWebhookReceiver,
  type ReceivedWebhookRequest,
  type WebhookReceiver,
} from "../../connection/webhook-receiver.ts";
import { UsageError } from "../../process/failure.ts";
import { secretMask } from "../../process/redact.ts";
import { replaceLeaves } from "./references.ts";
import { explainRejection } from "./rejection.ts";

type EnvironmentContext = Pick<Context, "svc" | "parseLine" | "signal" | "host">;

/** Environment of a story: an emulator, receivers, a folder for command lines, and saved values. */
export class ScenarioEnvironment {
  readonly emulator: Emulator;
  readonly client: Client;
  readonly secrets: SecretRegistry;
  readonly values = new Map<string, unknown>();
  readonly receivers = new Map<string, StoryReceiver>();
  readonly #context: EnvironmentContext;
  readonly #cwd: string;
  readonly #openReceivers: WebhookReceiver[] = [];

  /** Creates a environment. The caller closes the emulator. */
  constructor(emulator: Emulator, cwd: string, context: EnvironmentContext) {
    const first = getMainCluster(emulator);
    this.emulator = emulator;
    this.client = createClient({
      baseUrls: { router: emulator.routerUrl, emulator: emulator.routerUrl, contracts: first?.url },
      credentials: {
        clientId: first?.clientId,
        clientSecret: first?.clientSecret,
        clusterKeys: Object.fromEntries(emulator.clusters.map(({ id, clusterKey }) => [id, clusterKey])),
        controlToken: emulator.token,
      },
      transport: createTransport(),
      signal: context.signal,
      retries: 0,
    });
    this.#cwd = cwd;
    this.#context = context;
    this.secrets = new SecretRegistry(collectSecrets(emulator));
    this.values.set("cluster_id", first?.id);
    this.values.set("client_id", first?.clientId);
    this.values.set("router_url", emulator.routerUrl);
    this.values.set("contracts_url", first?.url);
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  /** Runs a command line against the emulator, without the settings of the user. */
  async svc(argv: readonly string[], stdin?: string): Promise<CapturedRun> {
    const line = await this.#context.parseLine(argv);
    const rejection = line && explainRejection(line);
    if (rejection !== undefined) throw new UsageError(rejection);
    return this.#context.svc(argv, {
      env: {
        ...clearUserVariables(this.#context.host.env),
        ...createEmulatorVariables(this.emulator),
        SVC_CONFIG_DIR: join(this.#cwd, ".config"),
        SVC_STATE_DIR: join(this.#cwd, ".state"),
      },
      cwd: this.#cwd,
      ...(stdin === undefined ? {} : { stdin }),
    });
  }

  /** Opens a built-in receiver with these response statuses, or uses the URL of a program. */
  async openReceiver(
    name: string,
    url: string | undefined,
    responses: readonly ReceiverStatus[],
  ): Promise<StoryReceiver> {
    const receiver = url === undefined ? await this.#openBuiltIn(responses) : createReceiver(url, [], true);
    this.receivers.set(name, receiver);
    this.values.set(name, receiver);
    return receiver;
  }

  /** Opens a receiver that repeats the last response status. */
  async #openBuiltIn(responses: readonly ReceiverStatus[]): Promise<StoryReceiver> {
    if (responses[0] === "down") return createReceiver(unreachableUrl, []);
    const received: ReceivedWebhookRequest[] = [];
    const receiver = await openWebhookReceiver({
      async respond(post) {
        received.push(post);
        const response = responses[Math.min(received.length, responses.length) - 1] ?? 200;
        // A listener cannot pause, so it rejects the delivery instead.
        const status = response === "down" ? 503 : response;
        return { status, body: status < 300 ? "ok" : "no" };
      },
    });
    this.#openReceivers.push(receiver);
    return createReceiver(`${receiver.url}/hooks`, received);
  }

  /** Runs all due entries by advancing one millisecond, because time only moves forward. */
  async settle(): Promise<void> {
    await this.emulator.clock.advance({ by: 1 });
  }

  async close(): Promise<void> {
    for (const receiver of this.#openReceivers.splice(0).reverse()) await receiver.close();
    await this.client.close();
  }
}

/** Removes variables that select the user's services or a CI server. */
const clearUserVariables = (env: Context["host"]["env"]): Readonly<Record<string, undefined>> =>
  Object.fromEntries(Object.keys(env).flatMap((name) => (/^(?:SVC|GITHUB)_/i.test(name) ? [[name, undefined]] : [])));

/** Webhook receiver of a story, referenced as `$app.url`. */
type StoryReceiver = ReturnType<typeof createReceiver>;

type ReceiverStatus = number | "down";

/** URL without a listener. Its port belongs to the discard service, which needs system privileges. */
const unreachableUrl = "http://127.0.0.1:9/hooks";

/** Creates a receiver at a URL. Deliveries to a user's program are not recorded. */
const createReceiver = (url: string, received: readonly ReceivedWebhookRequest[], isProgram = false) => ({
  url,
  isProgram,
  /** ID of the receiver's webhook. Undefined if no step has created a webhook. */
  webhook: undefined as number | undefined,
  get count() {
    return received.length;
  },
  get last() {
    const post = received.at(-1);
    if (post === undefined) return undefined;
    return {
      body: post.body.toString("utf8"),
      signature: String(post.headers[getSignatureHeader(getDefaultScheme()).toLowerCase()] ?? ""),
    };
  },
});

/** Shorter values can be part of ordinary words. */
const minSecretLength = 6;

class SecretRegistry {
  readonly #values: Set<string | undefined>;

  constructor(values: Iterable<string | undefined>) {
    this.#values = new Set(values);
  }

  /** Records values with the name of a secret in a result or in the story. */
  recordSecrets(value: unknown, name = ""): void {
    if (typeof value === "string") {
      if (isSecretName(name) && !isWord(value)) this.#values.add(value);
    } else if (Array.isArray(value)) for (const inner of value) this.recordSecrets(inner, name);
    else for (const [key, inner] of Object.entries(toFields(value))) this.recordSecrets(inner, key);
  }

  /** Masks all recorded secrets in a string, and values that look like secrets. */
  #maskText(text: string): string {
    const secrets = [...this.#values].filter((value = "") => value.length >= minSecretLength) as string[];
    secrets.sort((a, b) => b.length - a.length);
    const masked = secrets.reduce((now, secret) => now.replaceAll(secret, secretMask), text);
    return redactText(masked, { mask: secretMask });
  }

  maskValue<T>(value: T): T;
  maskValue(value: unknown): unknown {
    return replaceLeaves(value, (_, leaf) => (typeof leaf === "string" ? this.#maskText(leaf) : leaf));
  }
}

/** Failure codes and state names are not secrets. */
const isWord = (text: string): boolean => /^[a-z]+(?:[-_ ][a-z]+)*$/i.test(text) && !/[a-z][A-Z]/.test(text);
