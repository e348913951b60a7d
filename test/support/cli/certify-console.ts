import { join } from "node:path";
import { type RunResult, runCli } from "./run-cli.ts";

interface CertifyConsole {
  /** Address that signs one browser in. */
  readonly address: string;
  interrupt(): void;
  readonly completion: Promise<RunResult>;
}

/** Runs `svc webhooks certify --console` until it prints the address of its console. */
export const startCertifyConsole = (argv: readonly string[], cwd: string): Promise<CertifyConsole> =>
  new Promise((resolve, reject) => {
    let interrupt = () => {};
    const completion = runCli(["webhooks", "certify", ...argv, "--console"], {
      cwd,
      env: { SVC_CONFIG_DIR: join(cwd, "config"), PATH: process.env.PATH },
      onStart: ({ signal }) => {
        interrupt = () => signal("SIGINT");
      },
      onError: (stderr) => {
        const address = /^Console, .*: (\S+)\n/m.exec(stderr)?.[1];
        if (address !== undefined) resolve({ address, interrupt: () => interrupt(), completion });
      },
    });
    void completion.then(({ stderr }) => reject(new Error(`It ended without an address: ${stderr}`)));
  });
