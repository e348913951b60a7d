import { PassThrough, Readable, Writable } from "node:stream";
import type { CapturedRun, InnerRun } from "../command.ts";
import type { Host } from "../process/host.ts";

type Main = (argv: readonly string[], host: Host) => Promise<number>;

/** Runs another command line in this process, without a terminal, and keeps what it prints. */
export async function runCaptured(
  main: Main,
  argv: readonly string[],
  host: Host,
  { stdin, env, cwd = host.cwd }: InnerRun,
): Promise<CapturedRun> {
  const [out, err] = [collector(), collector()];
  const input = stdin === undefined ? new PassThrough().end() : Readable.from([stdin]);
  const exit = await main(argv, {
    ...host,
    cwd,
    inherits: false,
    stdin: input,
    stdout: out.stream,
    writeAtOnce: undefined,
    stderr: err.stream,
    env: { ...host.env, ...env },
  });
  return { exit, out: out.text(), err: err.text() };
}

function collector(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}
