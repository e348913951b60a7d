import { type Command, command } from "../command.ts";
import type { CheckResult } from "../doctor/check.ts";
import { withSpinner } from "../terminal/spinner.ts";

const doctor = command({
  words: ["doctor"],
  summary: "Diagnose why commands do not work here",
  description: [
    "Checks versions, configuration files and who may read them, profile, whether the services answer, through the",
    "proxies that are set, and accept the credentials, whether clocks agree, sign-ins and the emulator of this folder,",
    "and whether an emulator was told to make trouble: scripted faults, webhooks that are disabled or not allowed.",
    "It only reads, and changes nothing. The exit code is that of the first check that failed: 75 for a",
    "service that cannot be reached, 4 for credentials, 2 for settings.",
  ].join(" "),
  positionals: [],
  flags: [],
  examples: [
    { title: "Before asking for help", argv: ["doctor"] },
    { title: "For a report", argv: ["doctor", "--json"] },
    { title: "Of another profile", argv: ["doctor", "--profile", "staging"] },
  ],
  async run(_input, context) {
    const { output } = context;
    const [{ machineFindings }, { serviceFindings }, { aroundFindings }] = await Promise.all([
      import("../doctor/machine.ts"),
      import("../doctor/services.ts"),
      import("../doctor/around.ts"),
    ]);
    const findings = await withSpinner(context, "Looking around", async () => [
      ...(await machineFindings(context)),
      ...(await serviceFindings(context)),
      ...(await aroundFindings(context)),
    ]);
    const rows = findings.map(({ kind: _, hint, ...rest }) => ({ ...rest, hint: hint ?? null }));
    await output.show(rows, {
      fields: ["check", "status", "detail", "hint"],
      columns: ["check", "status", { name: "detail", cut: 1, least: 24, purpose: true }],
    });
    await advise(findings, context);
    return findings.find(({ status }) => status === "failed")?.kind;
  },
});

async function advise(findings: readonly CheckResult[], { output }: Parameters<Command["run"]>[1]): Promise<void> {
  if (output.format !== "table") return;
  for (const { check, hint } of findings) if (hint !== undefined) await output.note(`${check}: ${hint}`);
}

export const commands: readonly Command[] = [doctor];
