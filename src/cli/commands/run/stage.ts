import { join } from "node:path";
import type { Emulator } from "../../../../emulator/index.ts";
import { isSecretName, redactText } from "../../../api/secrets.ts";
import { type Client, createClient } from "../../../client/client.ts";
import { createTransport } from "../../../client/transport.ts";
import { getDefaultScheme, getSignatureHeader } from "../../../schemes/webhook-schemes.ts";
import type { CapturedRun, Context } from "../../command.ts";
import {
  collectSecrets,
  createEmulatorVariables,
  getMainCluster,
} from "../../connection/emulator/emulator-variables.ts";
import { openReceiver, type ReceivedPost, type Receiver } from "../../connection/webhook-receiver.ts";
import { UsageError } from "../../process/failure.ts";
import { mask } from "../../process/redact.ts";
import type { SavedValues } from "./references.ts";
import { explainRejection } from "./rejection.ts";

type StageContext = Pick<Context, "svc" | "read" | "signal" | "host">;

type Answers = Parameters<typeof openStoryReceiver>[0];

/** The stage of a story: an emulator, receivers, a folder for command lines, and saved values. */
export class Stage {
  readonly emulator: Emulator;
  readonly secrets: Secrets;
  readonly values = new Map<string, unknown>();
  readonly receivers = new Map<string, StoryReceiver>();
  readonly #context: StageContext;
  readonly #cwd: string;
  readonly #client: Client;
  readonly #closers: (() => Promise<void>)[] = [];

  private constructor(emulator: Emulator, client: Client, cwd: string, context: StageContext) {
    this.emulator = emulator;
    this.#client = client;
    this.#cwd = cwd;
    this.#context = context;
    this.secrets = new Secrets(collectSecrets(emulator));
    const first = getMainCluster(emulator);
    this.values.set("cluster_id", first?.id);
    this.values.set("client_id", first?.clientId);
    this.values.set("router_url", emulator.routerUrl);
    this.values.set("contracts_url", first?.url);
  }

  /** The caller closes the emulator. */
  static async open(emulator: Emulator, cwd: string, context: StageContext): Promise<Stage> {
    const first = getMainCluster(emulator);
    const client = createClient({
      baseUrls: { router: emulator.routerUrl, emulator: emulator.routerUrl, contracts: first?.url },
      credentials: {
        clientId: first?.clientId,
        clientSecret: first?.clientSecret,
        clusterKeys: Object.fromEntries(emulator.clusters.map(({ id, clusterKey }) => [id, clusterKey])),
        controlToken: emulator.token,
      },
      transport: createTransport(),
      retries: 0,
    });
    return new Stage(emulator, client, cwd, context);
  }

  get client(): Client {
    return this.#client;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get known(): SavedValues {
    return this.values;
  }

  /** Runs a command line against the emulator, without the settings of the user. */
  async svc(argv: readonly string[], stdin?: string): Promise<CapturedRun> {
    const line = await this.#context.read(argv);
    const rejection = line && explainRejection(line);
    if (rejection !== undefined) throw new UsageError(rejection);
    return this.#context.svc(argv, {
      env: {
        ...clearUserVariables(this.#context.host.env),
        ...createEmulatorVariables(this.emulator),
        ...createFolderVariables(this.#cwd),
      },
      cwd: this.#cwd,
      ...(stdin === undefined ? {} : { stdin }),
    });
  }

  async openReceiver(name: string, url: string | undefined, answers: Answers): Promise<StoryReceiver> {
    let receiver = url === undefined ? undefined : createReceiver(url, { isProgram: true });
    if (!receiver) {
      const opened = await openStoryReceiver(answers);
      this.#closers.push(opened.close);
      receiver = opened.receiver;
    }
    this.receivers.set(name, receiver);
    this.values.set(name, receiver);
    return receiver;
  }

  /** Completes everything that is due: advances one millisecond, since time only moves forward. */
  async settle(): Promise<void> {
    await this.emulator.clock.advance({ by: 1 });
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
    await this.#client.close();
  }
}

/** Removes the variables of the user's services, and those by which a CI server would be addressed. */
const clearUserVariables = (env: Context["host"]["env"]): Readonly<Record<string, undefined>> =>
  Object.fromEntries(
    Object.keys(env)
      .filter((name) => /^(?:SVC|GITHUB)_/i.test(name))
      .map((name) => [name, undefined]),
  );

/** Profiles, tokens and jobs of a story's command lines. */
const createFolderVariables = (cwd: string) => ({
  SVC_CONFIG_DIR: join(cwd, ".config"),
  SVC_STATE_DIR: join(cwd, ".state"),
});

/** A webhook receiver of a story, referenced as `$app.url`. */
interface StoryReceiver {
  readonly url: string;
  readonly isProgram: boolean;
  /** ID of its webhook; undefined if no step has created one. */
  webhook: number | undefined;
  readonly count: number;
  readonly last: { readonly body: string; readonly signature: string } | undefined;
}

type Answer = number | "down";

/** Nothing listens at this address: it has the port of the discard service, which only the system may use. */
const closedAddress = "http://127.0.0.1:9/hooks";

/** Opens a built-in receiver with these response statuses, the last of which repeats. `close` ends it. */
async function openStoryReceiver(
  answers: readonly Answer[],
): Promise<{ readonly receiver: StoryReceiver; close(): Promise<void> }> {
  if (answers[0] === "down") return { receiver: createReceiver(closedAddress), close: async () => {} };
  const received: ReceivedPost[] = [];
  const opened: Receiver = await openReceiver({
    async respond(post) {
      received.push(post);
      const status = answers[Math.min(received.length, answers.length) - 1] ?? 200;
      // A listener cannot pause, so it does not respond instead.
      const code = status === "down" ? 503 : status;
      return { status: code, body: code < 300 ? "ok" : "no" };
    },
  });
  return { receiver: createReceiver(`${opened.url}/hooks`, { received }), close: () => opened.close() };
}

/** Creates a receiver at an address. What a user's program received is unknown. */
const createReceiver = (
  url: string,
  {
    received = [],
    isProgram = false,
  }: { readonly received?: readonly ReceivedPost[]; readonly isProgram?: boolean } = {},
): StoryReceiver => ({
  url,
  isProgram,
  webhook: undefined,
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

/** Shorter values are part of ordinary words. */
const minLength = 6;

class Secrets {
  readonly #values = new Set<string>();

  constructor(values: Iterable<string | undefined>) {
    for (const value of values) this.#add(value);
  }

  /** Adds values with the name of a secret in a result or in the story. */
  recordSecrets(value: unknown, name = ""): void {
    if (typeof value === "string") {
      if (isSecretName(name) && !isWord(value)) this.#add(value);
    } else if (typeof value === "object" && value !== null) {
      const isList = Array.isArray(value);
      for (const [key, inner] of Object.entries(value)) this.recordSecrets(inner, isList ? name : key);
    }
  }

  #add(value: string | undefined): void {
    if (value !== undefined && value.length >= minLength) this.#values.add(value);
  }

  /** Masks all secrets in a string, and values that look like one. */
  maskSecrets(text: string): string {
    const shown = [...this.#values]
      .sort((one, other) => other.length - one.length)
      .reduce((now, secret) => now.replaceAll(secret, mask), text);
    return redactText(shown, { mask });
  }

  /** Masks all secrets in a JSON value. */
  maskValue<T>(value: T): T;
  maskValue(value: unknown): unknown {
    if (typeof value === "string") return this.maskSecrets(value);
    if (Array.isArray(value)) return value.map((one) => this.maskValue(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.maskValue(one)]));
  }
}

/** Failure codes and state names are not secrets. */
const isWord = (text: string): boolean => /^[a-z]+(?:[-_ ][a-z]+)*$/i.test(text) && !/[a-z][A-Z]/.test(text);
