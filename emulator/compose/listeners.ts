import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { brotliDecompressSync } from "node:zlib";
import { EmulatorBugError } from "../../src/base/errors.ts";
import type { ConsoleAsset, ConsoleBundle, ConsoleReader } from "../control/context.ts";
import type { ListenerPart } from "../http/handler.ts";
import { createListener, type Listener, type ListenerOptions } from "../http/listener.ts";
import type { CausePropagator } from "../http/outgoing/forward.ts";
import { reply } from "../http/reply.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { CleanupStack } from "./cleanup-stack.ts";
import { InvalidOptionsError } from "./options.ts";
import { createProbePart } from "./service-parts.ts";

interface ListenersSetup {
  readonly options: Pick<EmulatorOptions, "port" | "host" | "store" | "publicUrl" | "clusterUrls">;
  readonly listenerOptions: Omit<ListenerOptions, "name">;
  readonly links: CausePropagator;
  readonly instanceId: string;
  readonly closing: CleanupStack;
}

export interface BoundListener {
  readonly listener: Listener;
  readonly url: string;
}

/** The listeners of one emulator: the router's, and one per emulated cluster on the following ports. */
export class Listeners {
  readonly #setup: ListenersSetup;
  readonly router: Listener;
  /** True if other processes may lead the same state. A listener then hands over before it is closed. */
  readonly isShared: boolean;
  readonly #clusterListeners: Listener[] = [];

  constructor(setup: ListenersSetup) {
    this.#setup = setup;
    const { options, instanceId, closing } = setup;
    this.isShared = options.store !== undefined;
    const identity = { instance_id: instanceId };
    const probes = createProbePart({ "emulator.ready": () => reply(503, identity), "emulator.live": () => identity });
    this.router = this.#create("router", options.publicUrl, [probes]);
    closing.push(() => this.router.close());
  }

  #create(name: string, publicUrl: string | undefined, whileStarting: readonly ListenerPart[] = []): Listener {
    return createListener({
      ...this.#setup.listenerOptions,
      ...{ isShared: this.isShared, publicUrl, name, whileStarting },
    });
  }

  /** Binds the listener of the router, which responds that it is not ready. Resolves with its address. */
  async listen(): Promise<string> {
    const { options, links } = this.#setup;
    const url = await this.router.listen(options.port ?? 0, options.host);
    links.add(url);
    return url;
  }

  /** Binds the listener of a cluster. If the router has a fixed port, the clusters have the ports after it. */
  readonly bindCluster = async (id: string, position: number): Promise<BoundListener> => {
    const { options, links } = this.#setup;
    const { port = 0, host, clusterUrls } = options;
    const clusterPort = port === 0 ? 0 : port + 1 + position;
    if (clusterPort > 65_535) throw new InvalidOptionsError(`Port ${clusterPort} of the cluster ${id} is out of range`);
    const listener = this.#create(id, clusterUrls?.[id]);
    if (this.isShared) this.#clusterListeners.push(listener);
    const url = await listener.listen(clusterPort, host);
    links.add(url);
    return { listener, url };
  };

  /** Stops all listeners: closes them, or lets them respond that another process takes over. */
  readonly stop = (listener: Listener): Promise<void> => (this.isShared ? listener.handOver() : listener.close());

  /** Resolves when requests in progress have ended, before another process takes over. Later ones are still served. */
  async drain(signal: AbortSignal): Promise<void> {
    await Promise.all([this.router, ...this.#clusterListeners].map((listener) => listener.drain(signal)));
  }

  /** Closes the listeners of clusters that another process serves. */
  async closeShared(): Promise<void> {
    await Promise.all(this.#clusterListeners.map((listener) => listener.close()));
  }
}

/** Other machines reach a listener on all addresses by one of this machine's. */
export function toReachableUrl(url: string, host: string | undefined): string {
  if (host !== "0.0.0.0" && host !== "::") return url;
  const addresses = Object.values(networkInterfaces()).flatMap((networkAddresses) => networkAddresses ?? []);
  const externalAddress = addresses.find(({ internal, family }) => !internal && family === "IPv4");
  return externalAddress ? `http://${externalAddress.address}:${new URL(url).port}` : url;
}

/** The folder is next to the bundle in the package. In a checkout, it is the result of the last build. */
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../dist/console/" : "./console/", import.meta.url);

/** The build's description of the files, which build/console.ts writes. */
interface Manifest extends Omit<ConsoleBundle, "assets"> {
  readonly types: Readonly<Record<string, string>>;
}

/** Reads the console's files at the first request and caches them, because most emulators never open the console. */
export function createConsoleReader(): ConsoleReader {
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
    Object.entries(types).map(async ([name, type]): Promise<ConsoleAsset> => {
      const brotliBytes = await readFile(new URL(`${name}.br`, folder));
      return { name, type, bytes: brotliDecompressSync(brotliBytes), brotliBytes };
    }),
  );
  return { ...page, assets: new Map(assets.map((asset) => [asset.name, asset])) };
}
