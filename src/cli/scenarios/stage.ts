import type { Emulator } from "../../../emulator/index.ts";
import { type Client, createClient } from "../../client/client.ts";
import type { CapturedRun, Context } from "../command.ts";
import { collectSecrets, emulatorVariables, mainCluster } from "../connection/emulator-variables.ts";
import { openStoryReceiver, receiverAt, type StoryReceiver } from "./receivers.ts";
import type { Values } from "./references.ts";
import { Secrets } from "./secrets.ts";

type Answers = Parameters<typeof openStoryReceiver>[0];

/** Where a story takes place: an emulator, receivers, a folder for command lines, and the values that steps save. */
export class Stage {
  readonly emulator: Emulator;
  readonly secrets: Secrets;
  readonly values = new Map<string, unknown>();
  readonly receivers = new Map<string, StoryReceiver>();
  readonly #context: Pick<Context, "svc" | "signal">;
  readonly #cwd: string;
  readonly #client: Client;
  readonly #closers: (() => Promise<void>)[] = [];

  private constructor(emulator: Emulator, client: Client, cwd: string, context: Pick<Context, "svc" | "signal">) {
    this.emulator = emulator;
    this.#client = client;
    this.#cwd = cwd;
    this.#context = context;
    this.secrets = new Secrets(collectSecrets(emulator));
    const first = mainCluster(emulator);
    this.values.set("cluster_id", first?.id);
    this.values.set("client_id", first?.clientId);
    this.values.set("router_url", emulator.routerUrl);
    this.values.set("contracts_url", first?.url);
  }

  /** The emulator is closed by the one who opened it. */
  static async open(emulator: Emulator, cwd: string, context: Pick<Context, "svc" | "signal">): Promise<Stage> {
    const { createTransport } = await import("../../client/transport.ts");
    const first = mainCluster(emulator);
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

  get known(): Values {
    return this.values;
  }

  /** Runs a command line against the emulator. */
  svc(argv: readonly string[], stdin?: string): Promise<CapturedRun> {
    return this.#context.svc(argv, {
      // What a command line would say to a runner is part of its output here.
      env: { ...emulatorVariables(this.emulator), GITHUB_ACTIONS: undefined },
      cwd: this.#cwd,
      ...(stdin === undefined ? {} : { stdin }),
    });
  }

  /** Opens a built-in receiver, or takes the address of a program for one. */
  async openReceiver(name: string, url: string | undefined, answers: Answers): Promise<StoryReceiver> {
    let receiver = url === undefined ? undefined : receiverAt(url);
    if (!receiver) {
      const opened = await openStoryReceiver(answers);
      this.#closers.push(opened.close);
      receiver = opened.receiver;
    }
    this.receivers.set(name, receiver);
    this.values.set(name, receiver);
    return receiver;
  }

  /** Lets everything happen that is due by now: a millisecond passes, since time only goes ahead. */
  async settle(): Promise<void> {
    await this.emulator.clock.advance({ by: 1 });
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
    await this.#client.close();
  }
}
