import { join } from "node:path";
import type { TestContext } from "node:test";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { findFreePort } from "../../support/free-port.ts";

/** Result of `svc webhooks certify` for a receiver. */
export interface CertifyResult {
  readonly exit: number;
  readonly report: CertifyReport;
  /** Reported mistakes in alphabetical order. */
  readonly mistakes: readonly string[];
}

/** Certifies a receiver that the command starts. Returns the result and the data that the receiver stored. */
export async function certifyReceiver(
  t: TestContext,
  command: string,
  {
    mistake = "",
    probe = 'cat "$STORE"',
    checks,
  }: { readonly mistake?: string; readonly probe?: string; readonly checks?: readonly string[] } = {},
): Promise<CertifyResult> {
  const cwd = await createTestFolder(t);
  const store = join(cwd, "store.json");
  const to = `http://127.0.0.1:${await findFreePort()}/hooks`;
  const { PATH, HOME } = process.env;
  const argv = ["webhooks", "certify", "--to", to, "--command", command, "--json", "--time-limit", "2m"];
  const selection = checks ? checks.flatMap((check) => ["--only", check]) : ["--probe", probe];
  const { exit, stdout, stderr } = await runCli([...argv, ...selection], {
    cwd,
    env: { PATH, HOME, SVC_CONFIG_DIR: join(cwd, "config"), STORE: store, MISTAKE: mistake },
  });
  if (stdout === "") throw new Error(stderr);
  const report = JSON.parse(stdout) as CertifyReport;
  return { exit, report, mistakes: report.findings.map((finding) => finding.mistake).sort() };
}
