import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Emulator } from "../../../../../emulator/index.ts";
import { createSender } from "../../../../support/emulator.ts";
import { bulkOperations, createBulkBody } from "../../../../support/routed-emulator.ts";
import { getBundleFolder } from "../../../../support/shipped.ts";

type Leader = Pick<Emulator, "routerUrl" | "token" | "clusters">;

interface RunningEmulator {
  readonly routerUrl: string;
  /** Resolves when it leads. After it has lost the leadership, a new promise takes its place. */
  leads: Promise<Leader>;
  kill(): Promise<void>;
}

const program = `
const { startEmulator } = await import(process.argv[1]);
const tell = (about) => console.log(JSON.stringify(about));
const onLeaderChange = ({ routerUrl }) => tell({ routerUrl });
let lead;
const onLeadershipRegained = () => tell(lead);
const emulator = await startEmulator({ ...JSON.parse(process.argv[2]), onLeaderChange, onLeadershipRegained });
const { routerUrl, token, clusters } = emulator;
lead = { routerUrl, token, clusters };
onLeadershipRegained();
`;

/** Complete emulators, each in its own process, that share one store, and writers that send requests to any of them. */
export class Emulators {
  /** The requests, whatever became of them, and the acknowledged ones: e-mails, and deliveries by their content. */
  readonly requested = { emails: new Set<string>(), events: new Set<string>() };
  readonly acknowledged = { emails: new Set<string>(), events: new Map<string, number>() };
  /** Responses other than a success or a 503, and unexpected exits. */
  readonly strange: string[] = [];
  /** How often a live process lost its leadership because it stood still for longer than its lease. */
  leadsLost = 0;
  readonly #options: object;
  readonly #running: RunningEmulator[] = [];
  #next = 0;
  #isOver = false;
  #writers: Promise<unknown> = Promise.resolve();

  constructor(t: Pick<TestContext, "after">, options: object) {
    this.#options = options;
    t.after(async () => {
      await this.stopWriting();
      await Promise.all(this.#running.map((emulator) => emulator.kill()));
    });
  }

  /** Starts another one. Resolves when it leads or stands by. */
  async start(): Promise<RunningEmulator> {
    const argv = [join(getBundleFolder(), "emulator.js"), JSON.stringify({ port: 0, ...this.#options })];
    const child = spawn(process.execPath, ["--input-type=module", "-e", program, ...argv], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = once(child, "close");
    void closed.then(() => child.killed || this.strange.push("an emulator ended by itself"));
    const lines = createInterface({ input: child.stdout });
    const first = once(lines, "line");
    let lead: ((leader: Leader) => void) | undefined;
    const waitForLead = () =>
      new Promise<Leader>((resolve) => {
        lead = resolve;
      });
    const leads = waitForLead();
    let running: RunningEmulator | undefined;
    lines.on("line", (line: string) => {
      const message = JSON.parse(line);
      if (message.token !== undefined) {
        lead?.(message);
        lead = undefined;
      } else if (lead === undefined) {
        this.leadsLost += 1;
        running!.leads = waitForLead();
      }
    });
    const [line] = await Promise.race([first, closed]);
    if (typeof line !== "string") throw new Error("An emulator ended before it was up");
    const { routerUrl } = JSON.parse(line) as Leader;
    const kill = async () => {
      child.kill("SIGKILL");
      await closed;
    };
    running = { routerUrl, leads, kill };
    this.#running.push(running);
    return running;
  }

  /** The leader, as soon as there is one. */
  leader(): Promise<RunningEmulator> {
    return Promise.race(this.#running.map((emulator) => emulator.leads.then(() => emulator)));
  }

  async kill(emulator: RunningEmulator): Promise<void> {
    this.#running.splice(this.#running.indexOf(emulator), 1);
    await emulator.kill();
  }

  /** Starts this many writers, each of which sends requests to random processes. */
  write(count: number, token: string): void {
    this.#isOver = false;
    this.#writers = Promise.all(Array.from({ length: count }, () => this.#writeOn(token)));
  }

  async stopWriting(): Promise<void> {
    this.#isOver = true;
    await this.#writers;
  }

  /** Resolves after this many more responses. */
  async wrote(count: number): Promise<void> {
    const countAcknowledged = () => this.acknowledged.emails.size + this.acknowledged.events.size;
    const target = countAcknowledged() + count;
    while (countAcknowledged() < target) await sleep(5);
  }

  async #writeOn(token: string): Promise<void> {
    while (!this.#isOver) {
      this.#next += 1;
      const name = `w${this.#next}`;
      const emulator = this.#running[Math.floor(Math.random() * this.#running.length)];
      const isReported =
        emulator && (await (this.#next % 4 ? this.#map(emulator, name) : this.#fire(emulator, name, token)));
      // A starting process needs CPU time too, and without notice there may be no leader at the moment.
      await sleep(isReported ? Math.random() * 20 : 100);
    }
  }

  async #map({ routerUrl }: RunningEmulator, name: string): Promise<boolean> {
    this.requested.emails.add(name);
    const body = createBulkBody("emails", "eu-1", [name]);
    const response = await this.#ask(() => createSender(routerUrl)("POST", bulkOperations.emails.path, { body }));
    if (response) this.acknowledged.emails.add(name);
    return response !== undefined;
  }

  async #fire({ routerUrl }: RunningEmulator, name: string, token: string): Promise<boolean> {
    this.requested.events.add(name);
    const body = { activity: "CONTRACT_CREATED", payload: { name } };
    const response = await this.#ask(() =>
      createSender(routerUrl, { authorization: `Bearer ${token}` })("POST", "/_emulator/activities", { body }),
    );
    const { deliveries } = (response ?? {}) as { deliveries?: number[] };
    if (deliveries) this.acknowledged.events.set(name, deliveries[0]!);
    return deliveries !== undefined;
  }

  /** The body of a successful response. A connection that ends reveals nothing. */
  async #ask(send: () => Promise<{ status: number; body: unknown }>): Promise<unknown> {
    const response = await send().catch(() => undefined);
    if (response?.status === 200) return response.body;
    if (response && response.status !== 503) this.strange.push(`${response.status} ${JSON.stringify(response.body)}`);
    return undefined;
  }
}
