import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type BulkCall, type BulkService, bulkService, type Scripted } from "./bulk-service.ts";
import { testFolder } from "./cli-emulator.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

export type Script = (call: BulkCall) => Scripted | undefined | Promise<Scripted | undefined>;

export interface BulkStage {
  readonly service: BulkService;
  readonly cwd: string;
  /** The folder that holds the jobs. */
  readonly jobs: string;
  svc(argv: string | readonly string[], more?: RunOptions): Promise<RunResult>;
  /** The client ids of each call, in the order of arrival. */
  sent(): unknown[];
  write(name: string, rows: readonly string[]): Promise<void>;
}

/** A folder with `rows.txt`, a service that answers by a script, and the command line pointed at it. */
export async function bulkStage(
  t: TestContext,
  rows: readonly string[],
  script?: Script,
  owners?: Readonly<Record<string, string>>,
): Promise<BulkStage> {
  const service = await bulkService(t, script, owners);
  const cwd = await testFolder(t);
  const write = (name: string, lines: readonly string[]) =>
    writeFile(join(cwd, name), lines.map((line) => `${line}\n`).join(""));
  await write("rows.txt", rows);
  const env = { SVC_STATE_DIR: join(cwd, "state"), SVC_CONFIG_DIR: cwd, SVC_BASE_URL: service.url };
  return {
    service,
    cwd,
    jobs: join(cwd, "state", "jobs"),
    svc: (argv, more = {}) => runCli(argv, { cwd, ...more, env: { ...env, ...more.env } }),
    sent: () => service.calls.map(({ body }) => body.client_ids),
    write,
  };
}

/** `c0`, `c1`, … */
export const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `c${i}`);
