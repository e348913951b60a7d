import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type BulkRequest, type BulkService, type ScriptedResponse, startBulkService } from "./bulk-service.ts";
import { createTestFolder } from "./cli-emulator.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

export type ResponseScript = (
  call: BulkRequest,
) => ScriptedResponse | undefined | Promise<ScriptedResponse | undefined>;

export interface BulkFixture {
  readonly service: BulkService;
  readonly cwd: string;
  /** Folder of the jobs. */
  readonly jobs: string;
  svc(argv: string | readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Returns the client ids of each request in the order of arrival. */
  listRequests(): unknown[];
  write(name: string, rows: readonly string[]): Promise<void>;
}

/** Creates a folder with `rows.txt`, a service with scripted responses, and a command line that uses the service. */
export async function createBulkFixture(
  t: TestContext,
  rows: readonly string[],
  script?: ResponseScript,
  owners?: Readonly<Record<string, string>>,
): Promise<BulkFixture> {
  const service = await startBulkService(t, script, owners);
  const cwd = await createTestFolder(t);
  const write = (name: string, lines: readonly string[]) =>
    writeFile(join(cwd, name), lines.map((line) => `${line}\n`).join(""));
  await write("rows.txt", rows);
  const env = { SVC_STATE_DIR: join(cwd, "state"), SVC_CONFIG_DIR: cwd, SVC_BASE_URL: service.url };
  return {
    service,
    cwd,
    jobs: join(cwd, "state", "jobs"),
    svc: (argv, options = {}) => runCli(argv, { cwd, ...options, env: { ...env, ...options.env } }),
    listRequests: () => service.calls.map(({ body }) => body.client_ids),
    write,
  };
}

/** Creates the ids `c0`, `c1` and so on. */
export const createNumberedIds = (count: number): string[] => Array.from({ length: count }, (_, i) => `c${i}`);
