import type { Context, ServiceTarget } from "../command.ts";
import { openClient } from "../connection/http.ts";
import {
  createEmbeddedTarget,
  requireBaseUrl,
  resolveControlTarget,
  resolveServiceTarget,
} from "../connection/target.ts";
import type { Output } from "../output/output.ts";
import { locateCommand } from "../parse/argv.ts";
import type { GlobalOptions } from "../parse/globals.ts";
import { UsageError } from "../process/failure.ts";
import { canPrompt } from "../prompt/terminal.ts";

export type RunOptions = Pick<Context, "argv" | "host" | "svc" | "parseLine" | "shutdown">;

export function createContext(
  run: RunOptions,
  globals: GlobalOptions,
  output: Output,
): Context & { close(): Promise<void> } {
  const { host, argv, shutdown } = run;
  const { signal, forceSignal } = shutdown;
  const closers: (() => Promise<void>)[] = [];
  const onEnd = (close: () => Promise<void>) => void closers.unshift(close);
  const isEmulators = locateCommand(argv).words[0] === "emulator";
  let embeddedTarget: Promise<ServiceTarget> | undefined;
  let services: Promise<ServiceTarget> | undefined;

  const target: Context["target"] = async (service, file) => {
    if (globals.emulator) {
      embeddedTarget ??= createEmbeddedTarget({ host, output, onEnd, forceSignal }, file);
      return embeddedTarget;
    }
    if (service === "emulator") {
      const isServiceReported = services !== undefined;
      return resolveControlTarget(globals, host, file, output, { isOwn: isEmulators, isServiceReported });
    }
    services ??= resolveServiceTarget(globals, host, output);
    return services;
  };

  const client: Context["client"] = async (service, { file, connections, credentials: givenCredentials } = {}) => {
    const { baseUrls, credentials: targetCredentials } = await target(service, file);
    const credentials = { ...targetCredentials, ...givenCredentials };
    requireBaseUrl(baseUrls, service);
    return openClient({ host, globals, output, onEnd }, { baseUrls, credentials }, { connections, signal });
  };

  const confirm: Context["confirm"] = async (question, flag) => {
    if (globals.yes) return true;
    if (!canPrompt(host, globals)) {
      throw new UsageError(`${flag} required when not running interactively`, {
        hint: `${question} Add ${flag} to confirm.`,
      });
    }
    const { askYesNo } = await import("../prompt/ask.ts");
    return askYesNo(question, { host, signal });
  };

  return {
    ...run,
    ...{ globals, output, signal, forceSignal, target, client, confirm, onEnd },
    async close() {
      for (let close = closers.shift(); close; close = closers.shift()) await close();
    },
  };
}
