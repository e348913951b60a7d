import { listTemplates } from "../../../api/contracts/templates.ts";
import { checkHealth } from "../../../api/router/proxied.ts";
import { pluralize } from "../../../base/text.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../parse/next-command.ts";
import { InputRequiredError, PartialFailureError } from "../../process/failure.ts";
import { openRecording } from "./open-recorder.ts";
import { RecordCaller } from "./record-caller.ts";
import { Journey, journeyPlan } from "./record-journey.ts";
import { readsPlan, recordReads } from "./record-reads.ts";

/** Sends one call with the default client, whose errors about addresses and keys have the common messages. */
async function requireService(context: Context, hasKey: boolean): Promise<void> {
  const { signal } = context;
  if (hasKey) await (await context.client("contracts")).call(listTemplates, {}, { signal });
  else await (await context.client("router")).call(checkHealth, {}, { signal });
}

const flags = [
  { flag: "out", type: "text", placeholder: "FOLDER", description: "Folder of the corpus" },
  { flag: "allow-writes", type: "switch", description: "Also create objects, and remove them again" },
  { flag: "plan", type: "switch", description: "Print what would be done, and exit" },
  { flag: "rate", type: "number", placeholder: "N", description: "Maximum requests per second", default: 5 },
] as const satisfies readonly FlagSpec[];

const verifyRecord = defineCommand({
  words: ["verify", "record"],
  summary: "Record how a service responds to planned calls",
  description:
    "Calls the service of a profile and writes a corpus: lists, details, and harmless mistakes such as unknown ids. Only reads, unless --allow-writes is given: then it also runs a journey, and removes what that creates, also after Ctrl-C. Secrets, e-mail addresses and names are replaced before anything is written. The same command continues an interrupted recording.",
  positionals: [],
  flags,
  examples: [
    { title: "Reads alone", argv: ["verify", "record", "--profile", "staging", "--out", "corpus"] },
    {
      title: "What would a journey do?",
      argv: ["verify", "record", "--profile", "staging", "--out", "corpus", "--allow-writes", "--plan"],
    },
  ],
  async run({ flags: given }, context) {
    const { output, signal } = context;
    const { out, rate = 5 } = given;
    if (out === undefined) throw new InputRequiredError("out", "--out is required: the folder of the corpus");
    const writes = given["allow-writes"] === true;
    const plan = [...readsPlan, ...(writes ? journeyPlan : [])];
    if (given.plan) {
      if (output.format === "table") await output.print(...plan);
      else await output.show(plan.map((step) => ({ step })));
      return undefined;
    }
    const { baseUrls, credentials, origin } = await context.target("contracts");
    await output.note(`Recording ${origin}:`);
    for (const step of plan) await output.note(`  ${step}`);
    if (
      writes &&
      !(await context.confirm(`Create and remove objects at ${baseUrls.contracts ?? baseUrls.router}?`, "--yes"))
    )
      return "failed";
    await requireService(context, baseUrls.contracts !== undefined && credentials.clientId !== undefined);
    const { recorder, end, continued } = await openRecording(context, out, "--out");
    if (continued > 0) await output.note(`Continuing a corpus of ${pluralize(continued, "exchange")}`);
    const caller = new RecordCaller({
      target: { router: baseUrls.router, contracts: baseUrls.contracts, credentials },
      recorder,
      callsPerSecond: Math.max(0.01, rate),
      signal,
    });
    // Removing takes additional calls.
    if (writes) context.allowToEnd(30_000);
    const journey = new Journey(caller);
    let left: readonly string[] = [];
    try {
      await recordReads(caller);
      if (writes) await journey.run();
    } catch (cause) {
      if (recorder.count === continued) throw cause;
      throw new PartialFailureError(cause, [`Recorded ${pluralize(recorder.count, "exchange")} in ${out}.`], {
        hint: `To continue: ${formatNextCommand(context.argv, context)}`,
        repeatable: !writes,
      });
    } finally {
      left = await journey.cleanUp();
      for (const line of left) await output.warn(`warning: not removed: ${line}`);
      caller.close();
    }
    await end();
    const shown = { exchanges: recorder.count, folder: out, not_removed: left };
    if (output.format === "table") await output.print(`Recorded ${pluralize(recorder.count, "exchange")} in ${out}`);
    else await output.show(shown);
    await output.note(`Check with: svc verify scan ${out}`);
    return left.length > 0 ? "failed" : undefined;
  },
});

export const commands: readonly Command[] = [verifyRecord];
