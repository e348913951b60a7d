import { PassThrough, Readable, Writable } from "node:stream";
import { systemWallClock, type WallClock } from "../../../src/base/clock.ts";
import { main } from "../../../src/cli/main.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { getProgramPath } from "../program.ts";

/** A build of the CLI, with its entry point and its start command. */
export interface CliBuild {
  readonly main: typeof main;
  readonly program: Host["program"];
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Standard input. The default is an empty pipe, or an open terminal with `tty`. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Makes all three streams terminals with this number of columns. */
  readonly tty?: boolean;
  readonly columns?: number;
  readonly cwd?: string;
  readonly wall?: WallClock;
  /** Receives a function that sends a signal to the run. */
  readonly onStart?: (run: {
    signal: (name: "SIGINT" | "SIGTERM") => void;
    stdout: () => string;
    stderr: () => string;
  }) => void;
  /** Another build of the command line. Default: the sources. */
  readonly built?: CliBuild;
  /** Called with all output so far, after each write to standard output. */
  readonly onOutput?: (stdout: string) => void;
  /** Called with all output so far, after each write to standard error. */
  readonly onError?: (stderr: string) => void;
}

export interface RunResult {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `svc` with these arguments through its entry point, in this process but without this process's environment. */
export async function runCli(argv: string | readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const stdout = createCollector(options);
  const stderr = createCollector({ ...options, onOutput: options.onError });
  const listeners = new Set<(name: "SIGINT" | "SIGTERM") => void>();
  const built = options.built ?? { main, program: [process.execPath, getProgramPath("svc")] as const };
  const host: Host = {
    env: { SVC_CONFIG_DIR: "/nonexistent", ...options.env },
    cwd: options.cwd ?? "/nonexistent",
    stdin: Object.assign(createStdin(options), { isTTY: options.tty === true }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    wall: options.wall ?? systemWallClock,
    pid: process.pid,
    program: built.program,
    inherits: false,
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    // No deadline is enforced here, because tests run in one process and their wall clocks do not wait.
    setDeadline: () => {},
    end: (name) => {
      throw new Error(`${name} forces the end of a test`);
    },
  };
  const signal = (name: "SIGINT" | "SIGTERM") => {
    for (const listener of listeners) listener(name);
  };
  options.onStart?.({ signal, stdout: stdout.text, stderr: stderr.text });
  const exit = await built.main(typeof argv === "string" ? argv.split(" ").filter(Boolean) : argv, host);
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

function createStdin({ stdin, tty }: RunOptions): Readable {
  if (stdin === undefined) return tty ? new PassThrough() : new PassThrough().end();
  return typeof stdin === "string" || stdin instanceof Uint8Array
    ? Readable.from([Buffer.from(stdin)])
    : Readable.from(stdin);
}

function createCollector({
  tty,
  columns,
  onOutput,
}: Partial<RunOptions> & { onOutput?: RunOptions["onOutput"] | undefined }) {
  const chunks: Buffer[] = [];
  const text = () => Buffer.concat(chunks).toString("utf8");
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      onOutput?.(text());
      done();
    },
  });
  return {
    text,
    stream: Object.assign(stream, { isTTY: tty === true, columns: tty === true ? (columns ?? 100) : undefined }),
  };
}
