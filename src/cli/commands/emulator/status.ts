import { defineCommand } from "../../command.ts";
import { resolveEndedState } from "../../connection/ended-emulator.ts";
import { CommandFailedError } from "../../failure.ts";
import { isGone } from "./gone.ts";

export const emulatorStatus = defineCommand({
  words: ["emulator", "status"],
  summary: "Show whether an emulator runs, its address and its time",
  description: "Exits 5 if no emulator runs.",
  positionals: [],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the emulator" }],
  examples: [{ title: "The emulator of this folder", argv: ["emulator", "status"] }],
  async run(input, context) {
    const [{ showBufferUsage, checkReadiness }, { showClock }] = await Promise.all([
      import("../../../api/emulator/lifecycle.ts"),
      import("../../../api/emulator/clock.ts"),
    ]);
    const { signal, output } = context;
    const file = await resolveEndedState(input.flags.file, context);
    try {
      const { baseUrls } = await context.target("emulator", file);
      const client = await context.client("emulator", { file });
      const readiness = await client.call(checkReadiness, {}, { signal, retries: 0 });
      const clock = await client.call(showClock, {}, { signal });
      const { requests, inboxes, events, spans } = await client.call(showBufferUsage, {}, { signal });
      await output.show({
        running: true,
        router_url: baseUrls.emulator,
        ...readiness,
        ...clock,
        requests_kept: requests,
        inboxes_kept: inboxes,
        ...(spans !== null && { spans }),
        event_streams: events.streams,
      });
      return undefined;
    } catch (error) {
      const isNone = error instanceof CommandFailedError && error.code === "no_emulator";
      if (!isNone && !isGone(error)) throw error;
      if (output.format === "table") await output.print("not running");
      else await output.show({ running: false });
      return "not-found";
    }
  },
});
