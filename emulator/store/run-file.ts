import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isMissing } from "./disk.ts";

/** What a running emulator tells about itself beside its state. It holds the control token: mode 0600. */
export interface RunFile {
  readonly pid: number;
  /** New at each start; `GET ready` answers it too, so that another program on the same port is not taken for it. */
  readonly instance_id: string;
  readonly router_url: string;
  readonly control_url: string;
  readonly clusters: readonly { readonly id: string; readonly url: string }[];
  readonly token: string;
}

/** The state is in use by a running emulator. */
export class StateInUse extends Error {
  override readonly name = "StateInUse";
  readonly pid: number;
  readonly routerUrl: string;

  constructor(path: string, { pid, router_url }: RunFile, unanswered: boolean) {
    const silent = unanswered ? " It does not answer." : "";
    super(
      `An emulator is running on this state (${path}: pid ${pid}, ${router_url}).${silent} ` +
        `Use it, stop it with "svc emulator stop", or name another file with --file.`,
    );
    this.pid = pid;
    this.routerUrl = router_url;
  }
}

export interface ClaimedRunFile {
  /** Adds what is known only once the state is open: where the clusters listen. */
  tell(more: Pick<RunFile, "clusters">): Promise<void>;
  release(): Promise<void>;
}

interface Claim {
  /** Of the run file, such as `.svc/emulator.json.run`. */
  readonly path: string;
  readonly run: RunFile;
  /**
   * Asks `GET <router_url>/_emulator/ready` for the instance id. Undefined when the connection is refused or when
   * something else answers; rejects when nothing answers in time, which counts as running.
   */
  readonly probe: (routerUrl: string) => Promise<string | undefined>;
}

/**
 * Creates the run file, which is the lock on the state. One that was left behind is taken over: its process is gone,
 * or its URL refuses the connection or answers with another instance id. Fails with StateInUse. Nothing of the state
 * may be touched before this resolves; `release` comes after the store is closed.
 */
export async function claimRunFile({ path, run, probe }: Claim): Promise<ClaimedRunFile> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (let claimed = await createWhole(path, run); !claimed; claimed ||= await createWhole(path, run)) {
    const found = await readRunFile(path);
    if (found === undefined) continue;
    await refuseIfAlive(path, found, probe);
    claimed = await takeOver({ path, run, probe }, found);
  }
  return {
    async tell(more) {
      const temporary = await writeAside(path, { ...run, ...more });
      await rename(temporary, path);
    },
    async release() {
      const found = await readRunFile(path);
      if (typeof found === "object" && found.instance_id === run.instance_id) await rm(path);
    },
  };
}

/** Creates the file with all of its content at once, so that nobody reads half of it. False when there is one. */
async function createWhole(path: string, run: RunFile): Promise<boolean> {
  const temporary = await writeAside(path, run);
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeAside(path: string, run: RunFile): Promise<string> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(temporary, `${JSON.stringify(run, undefined, 2)}\n`, { flag: "wx", mode: 0o600 });
  return temporary;
}

async function refuseIfAlive(path: string, found: Found, probe: Claim["probe"]): Promise<void> {
  if (found === "unreadable" || !isProcess(found.pid)) return;
  // Our own pid proves nothing: another process may have had it, or a second emulator may live in this process.
  const answer = await probe(found.router_url).catch(() => {
    throw new StateInUse(path, found, true);
  });
  if (answer === found.instance_id) throw new StateInUse(path, found, false);
}

/**
 * Puts our run file in the place of one that was judged to be left behind. Of many that try, one holds the second
 * file, looks whether the first is still the one it judged, and replaces it; so no live one is ever replaced.
 */
async function takeOver({ path, run, probe }: Claim, judged: Found): Promise<boolean> {
  const turn = `${path}.takeover`;
  if (!(await createWhole(turn, run))) {
    const holder = await readRunFile(turn);
    if (holder === undefined) return false;
    await refuseIfAlive(turn, holder, probe);
    await rm(turn, { force: true });
    return false;
  }
  try {
    if (JSON.stringify(await readRunFile(path)) !== JSON.stringify(judged)) return false;
    await rename(await writeAside(path, run), path);
    return true;
  } finally {
    await rm(turn, { force: true });
  }
}

type Found = RunFile | "unreadable";

async function readRunFile(path: string): Promise<Found | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const found = JSON.parse(text) as RunFile;
    return Number.isInteger(found.pid) && typeof found.router_url === "string" ? found : "unreadable";
  } catch {
    return "unreadable";
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
