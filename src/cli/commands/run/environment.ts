import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { AdvanceResult, AdvanceTarget, Emulator } from "../../../../emulator/index.ts";
import { isSecretName, redactText } from "../../../api/secrets.ts";
import { omitUndefined, toFields } from "../../../base/object.ts";
import { createClient } from "../../../client/client.ts";
import { createTransport } from "../../../client/transport.ts";
import { getDefaultScheme, getSignatureHeader } from "../../../schemes/webhook-schemes.ts";
import type { CapturedRun, Context } from "../../command.ts";
import { collectSecrets, createEmulatorConnection, getMainCluster } from "../../connection/emulator/emulator-access.ts";
import { createEmulatorVariables } from "../../connection/emulator/emulator-variables.ts";
import {
  openWebhookReceiver,
  type ReceivedWebhookRequest,
  type WebhookReceiver,
} from "../../connection/webhook-receiver.ts";
import { isSeedFile } from "../../parse/body.ts";
import { UsageError } from "../../process/failure.ts";
import { minSecretLength, secretMask } from "../../process/redact.ts";
import { withTemporaryFolder } from "../../process/temporary-folder.ts";
import { replaceLeaves } from "./references.ts";
import { explainRejection } from "./rejection.ts";
import { InvalidScenarioError, type ParsedScenario } from "./scenario-file.ts";

/** Scenario to run, from a file or created in memory. */
export type RunnableScenario = Pick<ParsedScenario, "file" | "scenario" | "locate">;

/** Performs work on an emulator and in a folder for this scenario alone. Removes both afterwards. */
export async function withScenarioEnvironment<T>(
  scenario: RunnableScenario,
  context: Context,
  work: (environment: ScenarioEnvironment) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder("svc-run-", context, async (folder) => {
    const emulator = await startScenarioEmulator(scenario, context);
    const environment = createScenarioEnvironment(emulator, folder, context);
    try {
      for (const [name, content] of Object.entries(scenario.scenario.files ?? {}))
        await writeFile(join(folder, name), formatContent(content));
      return await work(environment);
    } finally {
      await environment.close();
      await emulator.close({ signal: AbortSignal.abort() });
    }
  });
}

/** A stopped clock and derived keys make a file produce the same IDs, times and signatures in each run. */
async function startScenarioEmulator(runnable: RunnableScenario, { host }: Context) {
  const { start } = runnable.scenario;
  const { startEmulator, InvalidOptionsError } = await import("../../../../emulator/index.ts");
  try {
    return await startEmulator({
      seed: await readScenarioSeed(runnable, host),
      clock: { mode: "manual", ...omitUndefined({ start }) },
      deterministic: true,
    } as Parameters<typeof startEmulator>[0]);
  } catch (error) {
    throw error instanceof InvalidOptionsError ? createSeedError(runnable, `: ${error.message}`) : error;
  }
}

const createSeedError = ({ locate }: RunnableScenario, reason: string): InvalidScenarioError =>
  new InvalidScenarioError(
    [{ ...locate(["seed"]), sentence: `seed${reason}` }],
    "svc emulator seed-schema prints the JSON Schema of seeds.",
  );

/** Returns the name or the document of a seed. Rejects if its file is outside the folder of the scenario. */
export async function readScenarioSeed(runnable: RunnableScenario, { cwd }: Pick<Context["host"], "cwd">) {
  const { seed = "demo" } = runnable.scenario;
  if (!isSeedFile(seed)) return seed;
  const fail = (reason: string): never => {
    throw createSeedError(runnable, ` ${seed} ${reason}.`);
  };
  const failUnreadable = () => fail("cannot be read: it must be demo, empty, or a file next to the scenario");
  const folder = dirname(resolve(cwd, runnable.file));
  // A symbolic link in a cloned repository can point to any file of the user.
  const [path, within] = await Promise.all([realpath(resolve(folder, seed)), realpath(folder)]).catch(failUnreadable);
  if (!path.startsWith(join(within, "/"))) fail("is outside the folder of the scenario");
  if (!(await stat(path)).isFile()) fail("is not a regular file");
  const text = await readFile(path, "utf8").catch(failUnreadable);
  try {
    return JSON.parse(text) as object;
  } catch {
    return fail("is not JSON");
  }
}

function formatContent(content: unknown): string | Buffer {
  if (typeof content === "string") return content;
  const { base64, ...others } = toFields(content);
  if (typeof base64 === "string" && Object.keys(others).length === 0) return Buffer.from(base64, "base64");
  return JSON.stringify(content, null, 2);
}

export type ScenarioEnvironment = ReturnType<typeof createScenarioEnvironment>;

/**
 * Creates the environment of a scenario: an emulator, receivers, a folder for command lines, and saved values. The
 * caller closes the emulator and removes the folder.
 */
function createScenarioEnvironment(emulator: Emulator, folder: string, { host, signal, parseLine, svc }: Context) {
  const client = createClient({
    ...createEmulatorConnection(emulator),
    transport: createTransport(),
    signal,
    retries: 0,
  });
  const { id, clientId, url: contracts_url } = getMainCluster(emulator) ?? {};
  const names = { cluster_id: id, client_id: clientId, router_url: emulator.routerUrl, contracts_url };
  const values = new Map<string, unknown>(Object.entries(names));
  const receivers = new Map<string, ScenarioReceiver>();
  const openReceivers: WebhookReceiver[] = [];
  const secrets = new Set(collectSecrets(emulator));

  /** Opens a receiver that repeats the last response status. */
  async function openBuiltIn(responses: ReceiverResponses): Promise<ScenarioReceiver> {
    if (responses === "down") return createReceiver(unreachableUrl, []);
    const received: ReceivedWebhookRequest[] = [];
    const receiver = await openWebhookReceiver({
      async respond(request) {
        received.push(request);
        const status = responses[Math.min(received.length, responses.length) - 1] ?? 200;
        return { status, body: status < 300 ? "ok" : "no" };
      },
    });
    openReceivers.push(receiver);
    return createReceiver(`${receiver.url}/hooks`, received);
  }

  /** Records values with the name of a secret, so that they are masked in results. */
  function recordSecrets(value: unknown, name = ""): void {
    if (typeof value === "string") {
      if (isSecretName(name) && !isWord(value)) secrets.add(value);
    } else if (Array.isArray(value)) for (const inner of value) recordSecrets(inner, name);
    else for (const [key, inner] of Object.entries(toFields(value))) recordSecrets(inner, key);
  }

  return {
    ...{ emulator, client, signal, wall: host.wall, values, receivers, recordSecrets },

    /** Runs a command line against the emulator, without the settings of the user. */
    async svc(argv: readonly string[], stdin?: string): Promise<CapturedRun> {
      const line = await parseLine(argv);
      const rejection = line && explainRejection(line);
      if (rejection !== undefined) throw new UsageError(rejection);
      // These variables select the user's services or a CI server.
      const userVariables = Object.keys(host.env).filter((name) => /^(?:SVC|GITHUB)_/i.test(name));
      return svc(argv, {
        env: {
          ...Object.fromEntries(userVariables.map((name) => [name, undefined])),
          ...createEmulatorVariables(emulator),
          SVC_CONFIG_DIR: join(folder, ".config"),
          SVC_STATE_DIR: join(folder, ".state"),
        },
        cwd: folder,
        ...(stdin === undefined ? {} : { stdin }),
      });
    },

    /** Opens a built-in receiver with these response statuses, or uses the URL of a program. */
    async openReceiver(name: string, url: string | undefined, responses: ReceiverResponses) {
      const receiver = url === undefined ? await openBuiltIn(responses) : createReceiver(url, [], true);
      receivers.set(name, receiver);
      values.set(name, receiver);
      return receiver;
    },

    /** Advances the clock. A program that takes longer than the clock waits is awaited until its delivery ends. */
    async advance(target: AdvanceTarget): Promise<AdvanceResult> {
      const { DeliveryUnderWayError } = await import("../../../../emulator/index.ts");
      for (;;) {
        try {
          return await emulator.clock.advance(target);
        } catch (error) {
          if (!(error instanceof DeliveryUnderWayError)) throw error;
          signal.throwIfAborted();
        }
      }
    },

    /** Runs all due entries by advancing one millisecond, because time only moves forward. */
    async settle(): Promise<void> {
      await this.advance({ by: 1 });
    },

    /** Masks all recorded secrets in the strings of a value, and parts that look like secrets. */
    maskSecrets<T>(value: T): T {
      const longSecrets = [...secrets].filter((secret = "") => secret.length >= minSecretLength) as string[];
      longSecrets.sort((a, b) => b.length - a.length);
      return replaceLeaves(value, (_, leaf) => {
        if (typeof leaf !== "string") return leaf;
        const masked = longSecrets.reduce((now, secret) => now.replaceAll(secret, secretMask), leaf);
        return redactText(masked, { mask: secretMask });
      }) as T;
    },

    async close(): Promise<void> {
      for (const receiver of openReceivers.splice(0).reverse()) await receiver.close();
      await client.close();
    },
  };
}

/** Failure codes and state names are not secrets. */
const isWord = (text: string): boolean => /^[a-z]+(?:[-_ ][a-z]+)*$/i.test(text) && !/[a-z][A-Z]/.test(text);

type ReceiverResponses = readonly number[] | "down";

/** URL without a listener. Its port belongs to the discard service, which needs system privileges. */
const unreachableUrl = "http://127.0.0.1:9/hooks";

/** Webhook receiver of a scenario, referenced as `$app.url`. */
type ScenarioReceiver = ReturnType<typeof createReceiver>;

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
    const request = received.at(-1);
    if (request === undefined) return undefined;
    return {
      body: request.body.toString("utf8"),
      signature: String(request.headers[getSignatureHeader(getDefaultScheme()).toLowerCase()] ?? ""),
    };
  },
});
