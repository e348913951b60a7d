import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { EmulatorBugError } from "../../src/base/errors.ts";
import type { ConsoleAsset, ConsoleBundle, ReadConsole } from "../control/console/bundle.ts";
import { createListener, type Listener, type ListenerOptions } from "../http/listener.ts";
import type { CausePropagator } from "../http/outgoing/cause-propagator.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { CleanupStack } from "./cleanup-stack.ts";
import { InvalidOptionsError } from "./options.ts";
import { readyPart } from "./service-parts.ts";

interface Setup {
  readonly options: Pick<EmulatorOptions, "port" | "host" | "store" | "publicUrl" | "clusterUrls">;
  /** Options that all of them share. */
  readonly duties: Omit<ListenerOptions, "name">;
  readonly links: CausePropagator;
  readonly instanceId: string;
  readonly closing: CleanupStack;
}

/** A listener that is bound, with the address that it is bound to. */
export interface BoundListener {
  readonly listener: Listener;
  readonly url: string;
}

/** The listeners of one emulator: the router's, and one for each emulated cluster on the ports that follow. */
export class Listeners {
  readonly #setup: Setup;
  readonly front: Listener;
  /** Whether other processes may lead the same state: a listener then hands over before it is closed. */
  readonly isShared: boolean;
  /** Listeners of clusters, whether this process leads or not. */
  readonly #shared: Listener[] = [];

  constructor(setup: Setup) {
    this.#setup = setup;
    const { options, duties, instanceId, closing } = setup;
    this.isShared = options.store !== undefined;
    const whileStarting = [readyPart(instanceId)];
    const { isShared } = this;
    this.front = createListener({ ...duties, isShared, publicUrl: options.publicUrl, name: "router", whileStarting });
    closing.push(() => this.front.close());
  }

  /** Binds the router's, which says that it is not ready yet. Resolves with its address. */
  async listen(): Promise<string> {
    const { options, links } = this.#setup;
    const url = await this.front.listen(options.port ?? 0, options.host);
    links.add(url);
    return url;
  }

  /** Binds that of a cluster. Where the router has a port of its own, the clusters have those that come after it. */
  readonly bindCluster = async (id: string, position: number): Promise<BoundListener> => {
    const { options, duties, links } = this.#setup;
    const { port = 0, host, clusterUrls } = options;
    const own = port === 0 ? 0 : port + 1 + position;
    if (own > 65_535) throw new InvalidOptionsError(`Port ${own} of the cluster ${id} is out of range`);
    const listener = createListener({ ...duties, isShared: this.isShared, publicUrl: clusterUrls?.[id], name: id });
    if (this.isShared) this.#shared.push(listener);
    const url = await listener.listen(own, host);
    links.add(url);
    return { listener, url };
  };

  /** Has no listener answer here any more, where another process will; elsewhere closes it. */
  readonly leave = (listener: Listener): Promise<void> => (this.isShared ? listener.handOver() : listener.close());

  /** Closes those of clusters that another process answers for by now. */
  async closeShared(): Promise<void> {
    await Promise.all(this.#shared.map((listener) => listener.close()));
  }
}

/**
 * An address under which others find a listener: one of this machine, where it listens on all of them; else the one that it
 * listens on.
 */
export function toReachableUrl(url: string, host: string | undefined): string {
  if (host !== "0.0.0.0" && host !== "::") return url;
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const found = addresses.find(({ internal, family }) => !internal && family === "IPv4");
  return found ? `http://${found.address}:${new URL(url).port}` : url;
}

/** Next to the bundle that ships; a checkout has what it built last. */
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../dist/console/" : "./console/", import.meta.url);

/** The build's description of the files (build/console.ts writes it). */
interface Manifest {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly types: Readonly<Record<string, string>>;
}

/**
 * Reads the console's files at the first request for one of them, and caches them: an emulator whose console is not
 * opened has none.
 */
export function consoleReader(): ReadConsole {
  let reading: Promise<ConsoleBundle> | undefined;
  return () => {
    reading ??= readConsole().catch((cause) => {
      reading = undefined;
      throw new EmulatorBugError("The console page is not built. Run npm run build", { cause });
    });
    return reading;
  };
}

async function readConsole(): Promise<ConsoleBundle> {
  const { types, ...page }: Manifest = JSON.parse(await readFile(new URL("manifest.json", folder), "utf8"));
  const assets = await Promise.all(
    Object.entries(types).map(
      async ([name, type]): Promise<ConsoleAsset> => ({
        name,
        type,
        bytes: await readFile(new URL(name, folder)),
        compressed: await readFile(new URL(`${name}.br`, folder)),
      }),
    ),
  );
  return { ...page, assets: new Map(assets.map((asset) => [asset.name, asset])) };
}
