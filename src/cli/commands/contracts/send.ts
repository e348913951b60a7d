import type { showContractStatus } from "../../../api/contracts/contracts.ts";
import { contractStatuses } from "../../../api/contracts/lifecycle.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Client } from "../../../client/client.ts";
import { ServiceError } from "../../../client/errors.ts";
import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { pollUntil } from "../../connection/follow.ts";
import { isEmulator } from "../../connection/target.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { CommandFailedError, PartialFailureError } from "../../process/failure.ts";
import { withSpinner } from "../../prompt/terminal.ts";
import { prepareRequest } from "../../runtime/derived-command.ts";

const contractsSend = defineCommand({
  words: ["contracts", "send"],
  summary: "Send a contract to its counterparties for signature",
  extendsDerived: true,
  readsDerived: { positionals: [{ name: "composite_id" }] },
  flags: [
    createTextFlag("wait", "STATUS", "Wait until the contract has this status", {
      choices: contractStatuses.map((status) => status.toLowerCase()),
    }),
    createTextFlag("wait-timeout", "DURATION", "Maximum wait, then exit 75", { default: "10m" }),
  ],
  examples: [["Send, and wait until everyone has signed", "contracts send T-1 --wait executed"]],
  async run(input, context, spec) {
    const target = input.flags.wait?.toUpperCase();
    const longest = input.flags["wait-timeout"] ?? "10m";
    const timeoutMs = parseDurationFlag(longest, "--wait-timeout");
    const request = await prepareRequest(spec!, input, context);
    if (request === "dry-run") return undefined;
    const id = input.positionals.composite_id;
    if (target === undefined) {
      await request.send();
      const next = (await isEmulator(context)) ? ["emulator", "sign", id] : ["contracts", "status", id];
      await context.output.note(`Sent ${id}. Next: ${formatNextCommand(next, context)}`);
      return undefined;
    }
    const { showContractStatus } = await import("../../../api/contracts/contracts.ts");
    const params = { composite_id: id };
    const fetchStatus: StatusQuery = () => request.client.call(showContractStatus, { params });
    const startNote = await request.client.send(request.call).then(
      () => `Sent ${id}`,
      async (error) => {
        if (await wasSentBefore(error, fetchStatus, request.client, id)) return `${id} was already sent`;
        throw error;
      },
    );
    await context.output.note(
      `${startNote}, waiting for ${target} (at most ${longest}; change it with --wait-timeout)`,
    );
    const waitForTarget = () =>
      pollUntil(context, timeoutMs, `${id} to be ${target}`, async () => {
        const response = await fetchStatus();
        const status: string = response.contract_status;
        if (status === target) return response;
        if (!isFinal(status)) return undefined;
        throw new CommandFailedError("failed", "wrong_status", `${id} is ${status} and cannot become ${target}.`);
      });
    const waiting = withSpinner(context, `Waiting for ${target}`, waitForTarget, { tellsTime: true });
    const response = await waiting.catch((error) => {
      throw new PartialFailureError(error, [`${id} was sent, but the wait for ${target} failed`], {
        next: ["contracts", "status", id],
        repeatable: true,
      });
    });
    await context.output.show(response);
  },
});

type StatusQuery = () => Promise<ResultOf<typeof showContractStatus>>;

/** After a timeout, the command can be run again: the service does not resend a contract. */
async function wasSentBefore(error: unknown, fetchStatus: StatusQuery, client: Client, id: string): Promise<boolean> {
  if (!(error instanceof ServiceError) || error.status !== 400) return false;
  const { contract_status: status } = await fetchStatus();
  if (status !== "REDLINING") return status === "SIGN" || status === "EXECUTED";
  const { showProcessMetrics } = await import("../../../api/contracts/contract-details.ts");
  // Uploaded paper is in review without being sent.
  const metrics = await client.call(showProcessMetrics, { params: { contract_id: Number(id.slice(2)) } });
  return metrics.contract_sent_to_cp_datetime !== null;
}

/** Maps the status of a contract to an exit code, for scripts that poll (DECISIONS.md, L10). */
const contractsStatus = defineCommand({
  words: ["contracts", "status"],
  extendsDerived: true,
  flags: [createSwitch("exit-status", "Exit 8 while the contract can be executed, and 1 if it cannot")],
  examples: [["Continue only when everyone has signed", "contracts status T-1 --exit-status"]],
  async run(input, context, spec) {
    const request = await prepareRequest<ResultOf<typeof showContractStatus>>(spec!, input, context, {
      reads: input.flags["exit-status"] === true,
    });
    if (request === "dry-run") return undefined;
    const { value } = await request.send();
    if (input.flags["exit-status"] !== true) return undefined;
    const { contract_status: status } = value;
    if (!isFinal(status)) return "pending";
    return status === "EXECUTED" ? undefined : "failed";
  },
});

/** Reports whether the status of a contract is final (DECISIONS.md, C22). */
const isFinal = (status: string): boolean => status === "EXECUTED" || status === "VOIDED";

export const commands: readonly Command[] = [contractsSend, contractsStatus];
