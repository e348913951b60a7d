import { type Command, defineCommand } from "../command.ts";
import { withSpinner } from "../prompt/spinner.ts";
import { checkEnvironment, checkMachine } from "./doctor/machine.ts";
import { checkServices } from "./doctor/services.ts";

const doctor = defineCommand({
  words: ["doctor"],
  summary: "Diagnose why commands do not work here",
  description:
    "Checks versions, configuration files and their permissions, the profile, whether the services respond (through the configured proxies) and accept the credentials, clocks, sign-ins, and the emulator of this folder: scripted faults, and webhooks that are disabled or not allowed. It changes nothing. The exit code is that of the first failed check: 75 for an unreachable service, 4 for credentials, 2 for settings.",
  examples: [
    ["Check this machine and the services", "doctor"],
    ["Print JSON for a bug report", "doctor --json"],
    ["Check the services of another profile", "doctor --profile staging"],
  ],
  async run(_input, context) {
    const { output } = context;
    const findings = await withSpinner(context, "Running checks", async () => [
      ...(await checkMachine(context)),
      ...(await checkServices(context)),
      ...(await checkEnvironment(context)),
    ]);
    const rows = findings.map(({ kind: _, hint, ...rest }) => ({ ...rest, hint: hint ?? null }));
    await output.show(rows, {
      fields: ["check", "status", "detail", "hint"],
      columns: ["check", "status", { name: "detail", shrinkPriority: 1, minWidth: 24, purpose: true }],
    });
    if (output.format === "table") {
      for (const { check, hint } of findings) if (hint !== undefined) await output.note(`${check}: ${hint}`);
    }
    return findings.find(({ status }) => status === "failed")?.kind;
  },
});

export const commands: readonly Command[] = [doctor];
