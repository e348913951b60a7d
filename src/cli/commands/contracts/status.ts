import type { showContractStatus } from "../../../api/contracts/contracts.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { defineCommand } from "../../command.ts";
import { prepareCall } from "../../derived-command.ts";
import { isFinal } from "./final-status.ts";

/** Says by its exit code where a contract stands, for scripts that look again later (DECISIONS.md, L10). */
export const contractsStatus = defineCommand({
  words: ["contracts", "status"],
  summary: "Show a contract's status",
  extendsDerived: true,
  positionals: [],
  flags: [
    {
      flag: "exit-status",
      type: "switch",
      description: "Exit 8 while the contract can be executed, and 1 if it cannot",
    },
  ],
  examples: [
    { title: "Continue only when everyone has signed", argv: ["contracts", "status", "T-1", "--exit-status"] },
  ],
  async run(input, context, spec) {
    const prepared = await prepareCall<ResultOf<typeof showContractStatus>>(spec!, input, context, {
      reads: input.flags["exit-status"] === true,
    });
    if (prepared === "dry-run") return undefined;
    const { value } = await prepared.send();
    if (input.flags["exit-status"] !== true) return undefined;
    const { contract_status: status } = value;
    if (!isFinal(status)) return "pending";
    return status === "EXECUTED" ? undefined : "failed";
  },
});
