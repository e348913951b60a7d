import { mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Emulator } from "../../../../emulator/index.ts";
import { isObject } from "../../../base/object.ts";
import type { Context } from "../../command.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { getScenarioFolder, isSeedFile } from "./load.ts";
import type { ParsedScenario } from "./parse.ts";
import { ScenarioEnvironment } from "./scenario-environment.ts";

type ScenarioContext = Pick<Context, "host" | "svc" | "parseLine" | "signal" | "forceSignal">;

/** Base emulators of scenarios. There is one per seed, and every scenario runs on a fork. */
export class ScenarioEmulators {
  readonly #context: ScenarioContext;
  readonly #bases = new Map<string, Promise<Emulator>>();

  constructor(context: ScenarioContext) {
    this.#context = context;
  }

  /** Performs work on a separate environment for this scenario. Removes the environment afterwards. */
  async withEnvironment<T>(parsed: ParsedScenario, work: (environment: ScenarioEnvironment) => Promise<T>): Promise<T> {
    const base = await this.#getBase(parsed);
    const emulator = await base.fork();
    const folder = await mkdtemp(join(tmpdir(), "svc-run-"));
    try {
      await writeScenarioFiles(folder, parsed.scenario.files ?? {});
      const environment = new ScenarioEnvironment(emulator, folder, this.#context);
      try {
        return await work(environment);
      } finally {
        await environment.close();
      }
    } finally {
      await emulator.close({ signal: AbortSignal.abort() });
      await rm(folder, { recursive: true, force: true });
    }
  }

  async close(): Promise<void> {
    const bases = [...this.#bases.values()];
    this.#bases.clear();
    for (const base of bases)
      await base.then((emulator) => emulator.close({ signal: this.#context.forceSignal })).catch(() => {});
  }

  async #getBase(parsed: ParsedScenario): Promise<Emulator> {
    const { start, seed = "demo" } = parsed.scenario;
    const folder = isSeedFile(seed) ? getScenarioFolder(parsed, this.#context.host) : "";
    const key = JSON.stringify([seed, start, folder]);
    const base = this.#bases.get(key) ?? startBaseEmulator(parsed, this.#context);
    this.#bases.set(key, base);
    return base;
  }
}

/**
 * Starts an emulator with its state in memory and a stopped clock, so that a file produces the same IDs and times in
 * each run.
 */
async function startBaseEmulator(parsed: ParsedScenario, { host }: ScenarioContext): Promise<Emulator> {
  const { seed = "demo", start } = parsed.scenario;
  const { startEmulator, InvalidOptionsError } = await import("../../../../emulator/index.ts");
  try {
    return await startEmulator({
      seed: isSeedFile(seed) ? await readSeed(parsed, seed, host) : seed,
      clock: { mode: "manual", ...(start !== undefined && { start }) },
      deterministic: true,
    } as Parameters<typeof startEmulator>[0]);
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error;
    const { line, column } = parsed.positions.locate(["seed"]);
    throw new CommandFailedError("usage", "invalid_seed", `${parsed.file}:${line}:${column}: seed: ${error.message}`);
  }
}

async function readSeed(parsed: ParsedScenario, seed: string, host: Context["host"]): Promise<object> {
  const { line, column } = parsed.positions.locate(["seed"]);
  const fail = (reason: string): never => {
    throw new CommandFailedError("usage", "invalid_seed", `${parsed.file}:${line}:${column}: seed ${seed} ${reason}.`);
  };
  const failUnreadable = () => fail("cannot be read: it must be demo, empty, or a file next to the scenario");
  const folder = getScenarioFolder(parsed, host);
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

/** Writes the files of a scenario into the working directory of its command lines. */
export async function writeScenarioFiles(folder: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), formatContent(content));
}

function formatContent(content: unknown): string | Buffer {
  if (typeof content === "string") return content;
  if (isObject(content) && Object.keys(content).length === 1 && typeof content.base64 === "string") {
    return Buffer.from(content.base64, "base64");
  }
  return JSON.stringify(content, null, 2);
}
