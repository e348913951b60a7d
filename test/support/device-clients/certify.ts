import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createTestFolder } from "../cli/cli-emulator.ts";
import { runCli } from "../cli/run-cli.ts";

interface Row {
  readonly id: string;
  readonly result: string;
  readonly detail: string;
}

/** Returns the command of the project's own client, correct or with a mistake. */
export const getOwnClientCommand = (mistake: string): readonly string[] => [
  process.execPath,
  fileURLToPath(new URL("./client.mjs", import.meta.url)),
  mistake,
];

/**
 * Runs `svc auth certify`. Returns its exit code and the failed checks. Checks that could not run because this machine
 * was busy, and checks that depend on them, are excluded.
 */
export async function certifyDeviceClient(
  t: Pick<TestContext, "after">,
  client: readonly string[],
  flags: readonly string[] = [],
) {
  const cwd = await createTestFolder(t);
  const env = { ...process.env, SVC_CONFIG_DIR: cwd };
  const argv = ["auth", "certify", "--json", "--report", "report.xml", ...flags, "--", ...client];
  const { exit, stdout, stderr } = await runCli(argv, { cwd, env });
  const rows: readonly Row[] = stdout === "" ? [] : JSON.parse(stdout);
  const busy = rows.filter(({ detail }) => detail.startsWith("This machine was busy")).map(({ id }) => id);
  const unmade = new Set([...busy, ...busy.map((id) => `Not assessed unless ${id} passes.`)]);
  const findings = Object.fromEntries(
    rows
      .filter(({ id, result, detail }) => result !== "passed" && !unmade.has(id) && !unmade.has(detail))
      .map(({ id, result }) => [id, result]),
  );
  return { exit, stderr, rows, findings, report: await readFile(join(cwd, "report.xml"), "utf8").catch(() => "") };
}
