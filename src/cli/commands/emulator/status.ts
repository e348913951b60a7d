import { showClock } from "../../../api/emulator/clock.ts";
import { checkLiveness, checkReadiness, showBufferUsage, stop } from "../../../api/emulator/lifecycle.ts";
import { NetworkError, ServiceError } from "../../../client/errors.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { findStaleVariablesHint } from "../../connection/emulator/emulator-variables.ts";
import { readRunFileOf, resolveStateFile } from "../../connection/emulator/run-file.ts";
import { pollUntil } from "../../connection/follow.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";

const emulatorStatus = defineCommand({
  words: ["emulator", "status"],
  summary: "Show whether an emulator runs, its address and its time",
  description: "Exits 5 if no emulator runs.",
  flags: [createTextFlag("file", "FILE", "State file of the emulator")],
  examples: [["Show the emulator of this folder", "emulator status"]],
  async run(input, context) {
    const { output } = context;
    const { file } = input.flags;
    try {
      const { baseUrls } = await context.target("emulator", file);
      const client = await context.client("emulator", { file });
      const readiness = await client.call(checkReadiness, {}, { retries: 0 });
      const clock = await client.call(showClock);
      // The buffers contain requests of all workspaces, so a token of one workspace cannot see their size.
      const usage = await client.call(showBufferUsage).catch((error: unknown) => {
        if (error instanceof ServiceError && error.status === 403) return undefined;
        throw error;
      });
      await output.show({
        running: true,
        router_url: baseUrls.emulator,
        ...readiness,
        ...clock,
        ...(usage && {
          requests_kept: usage.requests,
          inboxes_kept: usage.inboxes,
          ...(usage.spans !== null && { spans: usage.spans }),
          event_streams: usage.events.streams,
        }),
      });
      return undefined;
    } catch (error) {
      const code = error instanceof CommandFailedError ? error.code : undefined;
      if (code === "run_file_ignored") await output.warn(`warning: ${(error as Error).message}`);
      else if (code !== "no_emulator" && !isGone(error)) throw error;
      await output.showOrPrint({ running: false }, "not running");
      const hint = findStaleVariablesHint(error, context);
      if (hint !== undefined) await output.note(hint);
      return "not-found";
    }
  },
});

/** Before it ends, the emulator completes due deliveries for a few seconds (emulator/index.ts). */
const stopTimeoutMs = 20_000;

const emulatorStop = defineCommand({
  words: ["emulator", "stop"],
  summary: "Stop the running emulator",
  description: "Exits 5 if no emulator runs.",
  flags: [createTextFlag("file", "FILE", "State file of the running emulator")],
  examples: [["Stop the emulator of this folder", "emulator stop"]],
  async run(input, context) {
    const { file } = input.flags;
    const client = await context.client("emulator", { file }).catch((error: unknown) => {
      if (!(error instanceof CommandFailedError) || error.code !== "no_emulator") throw error;
      const { kind, code, message, hint } = error;
      // Other commands suggest starting an emulator. For stop, no running emulator is the desired result.
      throw new CommandFailedError(kind, code, message, { hint, cause: error });
    });
    const shutdownResult = await client
      .call(checkReadiness)
      .then(async ({ instance_id, why: writeError }) => {
        await client.call(stop);
        return { instance: instance_id, couldWrite: writeError === undefined };
      })
      .catch((error: unknown) => {
        if (!isGone(error)) throw error;
        throw new CommandFailedError("not-found", "no_emulator", "The emulator has already ended.", {
          hint: findStaleVariablesHint(error, context),
          next: ["emulator", "status"],
          cause: error,
        });
      });
    await pollUntil(context, stopTimeoutMs, "the emulator to stop", async () => {
      // Not readiness: a process that completes requests before another one leads responds with another body.
      const isServing = await client.call(checkLiveness, {}, { timeoutMs: 2_000, retries: 0 }).then(
        // A proxy forwards to another emulator now.
        ({ instance_id }) => instance_id === shutdownResult.instance,
        // If the connection was cut during shutdown, nothing listens there a moment later.
        (error: unknown) => !isGone(error) && !isBadGateway(error),
      );
      // The emulator writes its state after it stops accepting requests.
      const running = isServing ? undefined : await readRunFileOf(resolveStateFile(context.host, file), file);
      return isServing || running?.instanceId === shutdownResult.instance ? undefined : true;
    });
    if (!shutdownResult.couldWrite) {
      await context.output.warn(
        "warning: The emulator could not write its state before it stopped. Recent changes may be lost. Its log has the reason, unless it is on the same full disk.",
      );
    }
    if (context.output.format === "table") await context.output.note("Stopped");
    else await context.output.show({ stopped: true });
  },
});

/** An emulator that hangs, or drops the connection, still exists. */
const isGone = (error: unknown): boolean => error instanceof NetworkError && error.code === "ECONNREFUSED";

/** A proxy reports that nothing listens. */
const isBadGateway = (error: unknown): boolean => error instanceof ServiceError && [502, 503].includes(error.status);

/** The verb with which other groups show one object. */
const emulatorClockShow = defineCommand({
  words: ["emulator", "clock", "show"],
  extendsDerived: "emulator clock",
  run: (input, context, spec) => runDerivedCommand(spec!, input, context),
});

export const commands: readonly Command[] = [emulatorStop, emulatorStatus, emulatorClockShow];
