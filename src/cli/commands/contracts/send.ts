import { contractStatuses } from "../../../api/contract-statuses.ts";
import { type Context, command } from "../../command.ts";
import { pollUntil } from "../../connection/poll.ts";
import { call } from "../../derived.ts";
import { CommandFailed, PartialFailure } from "../../failure.ts";
import { nextLine } from "../../next.ts";
import { checkedDuration } from "../../parse/globals.ts";
import { withSpinner } from "../../terminal/spinner.ts";
import { isFinal } from "./final-status.ts";

export const contractsSend = command({
  words: ["contracts", "send"],
  summary: "Send a contract to its counterparties for signature",
  extendsDerived: true,
  readsDerived: { positionals: [{ name: "composite_id" }] },
  positionals: [],
  flags: [
    {
      flag: "wait",
      type: "text",
      placeholder: "STATUS",
      choices: contractStatuses.map((status) => status.toLowerCase()),
      description: "Wait until the contract has this status",
    },
    {
      flag: "wait-timeout",
      type: "text",
      placeholder: "DURATION",
      default: "10m",
      description: "Stop waiting after this long (exit 75)",
    },
  ],
  examples: [
    { title: "Send, and wait until everybody has signed", argv: ["contracts", "send", "T-1", "--wait", "executed"] },
  ],
  async run(input, context, spec) {
    const target = input.flags.wait?.toUpperCase();
    const longest = input.flags["wait-timeout"] ?? "10m";
    const timeoutMs = checkedDuration(longest, "--wait-timeout");
    const prepared = await call(spec!, input, context);
    if (prepared === "dry-run") return undefined;
    const id = input.positionals.composite_id;
    if (target === undefined) {
      await prepared.send();
      await context.output.note(`Sent ${id}. Next: ${nextLine(["contracts", "status", id], context)}`);
      return undefined;
    }
    await prepared.client.send(prepared.call, { signal: context.signal });
    await context.output.note(`Sent ${id}, waiting for ${target} (at most ${longest}: --wait-timeout)`);
    const awaited = () => untilStatus(context, id, target, timeoutMs);
    const answer = await withSpinner(context, `Waiting for ${target}`, awaited, { tellsTime: true }).catch((error) => {
      // It cannot be sent twice: one that is no draft any more is refused.
      throw new PartialFailure(error, [`${id} was sent before`], {
        next: ["contracts", "status", id],
        repeatable: true,
      });
    });
    await context.output.show(answer);
    return undefined;
  },
});

async function untilStatus(context: Context, id: string, target: string, timeoutMs: number) {
  const { showContractStatus } = await import("../../../api/contracts/contracts.ts");
  const client = await context.client("contracts");
  return pollUntil(context, timeoutMs, `${id} to be ${target}`, async () => {
    const answer = await client.call(showContractStatus, { params: { composite_id: id } }, { signal: context.signal });
    const status: string = answer.contract_status;
    if (status === target) return answer;
    if (isFinal(status)) {
      throw new CommandFailed("failed", "wrong_status", `${id} is ${status} and will never be ${target}.`);
    }
    return undefined;
  });
}
