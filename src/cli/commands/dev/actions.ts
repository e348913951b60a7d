import { lookupTable, toFields, tryParseJson } from "../../../base/object.ts";
import type { CapturedRun, Context } from "../../command.ts";
import { dim, red, type StyledLine } from "../../output/styled.ts";
import { formatCommandLine } from "../../process/shell-words.ts";
import type { SessionScreen } from "./screen.ts";

export interface KeyActionState {
  /** ID of the contract that changed last. */
  contract?: string | undefined;
  contractStatus?: string | undefined;
  /** ID of the last changed delivery to the session's webhook. */
  deliveryId?: number | undefined;
  webhookId?: number | undefined;
  /** Address of the app while it refuses connections. */
  closedAddress?: string | undefined;
}

interface KeyActionTools {
  readonly state: KeyActionState;
  /** Prints and runs a command. Resolves with its response, or prints its error and resolves with undefined. */
  run(argv: readonly string[]): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Prints a command and all of its output. */
  show(argv: readonly string[]): Promise<void>;
  print(...lines: readonly StyledLine[]): Promise<void>;
}

const counterparty = { is_individual: true, poc_details: { first_name: "Jo", email: "jo@acme.example" } };
const createContractArgv = [
  ...["contracts", "create", "--contract-template-id", "101", "--set", "contract_data={}"],
  ...["--set", `counter_party_details=${JSON.stringify([counterparty])}`],
];

/** Exceeds the number of signatories of every demo contract. */
const maxSignatures = 10;

/** Actions by key. Each action runs exactly the command that it prints. */
const keyActions = lookupTable<{ readonly summary: string; perform(tools: KeyActionTools): Promise<void> }>({
  c: {
    summary: "create a contract",
    async perform({ run, state, print }) {
      const contract = await run(createContractArgv);
      if (contract === undefined) return;
      state.contract = String(contract.composite_id ?? contract.id);
      state.contractStatus = "DRAFT";
      await print(`Created ${state.contract}.`);
    },
  },
  s: {
    summary: "send and sign it",
    async perform({ run, state, print }) {
      const { contract } = state;
      if (contract === undefined) return print("There is no contract yet. Press c to create one.");
      let status = state.contractStatus;
      if (status === "DRAFT") {
        if ((await run(["contracts", "send", contract])) === undefined) return;
        status = "SIGN";
      }
      for (let i = 0; status === "SIGN" && i < maxSignatures; i += 1) {
        const signed = await run(["emulator", "sign", contract]);
        if (signed === undefined) return;
        status = String(signed.contract_status);
      }
      await print(`${contract} is ${status}.`);
    },
  },
  r: {
    summary: "resend the last delivery",
    async perform({ run, state, print }) {
      if (state.deliveryId === undefined) return print("There is no delivery yet. Press c to create a contract.");
      await run(["emulator", "deliveries", "resend", String(state.deliveryId)]);
    },
  },
  f: {
    summary: "fail the next three deliveries",
    async perform({ run, state, print }) {
      if (state.webhookId === undefined) return print("There is no webhook yet.");
      const webhook = ["--webhook", String(state.webhookId)];
      const fault = ["--direction", "outgoing", ...webhook, "--effect", "drop", "--count", "3"];
      const addedFault = await run(["emulator", "fault", "add", ...fault]);
      if (addedFault) await print("The next three attempts will not arrive.");
    },
  },
  n: {
    summary: "advance to the next due entry",
    async perform({ run, print }) {
      const advance = await run(["emulator", "clock", "advance", "--next"]);
      if (advance === undefined) return;
      const count = Array.isArray(advance.ran) ? advance.ran.length : 0;
      if (count === 0) await print("Nothing is due.");
    },
  },
  o: { summary: "open the console", perform: ({ show }) => show(["emulator", "open"]) },
  w: {
    summary: "diagnose failing webhooks",
    async perform({ show, state, print }) {
      if (state.closedAddress !== undefined)
        await print(`${state.closedAddress} refuses connections. Start your app there. Deliveries fail until then.`);
      await show(["webhooks", "why"]);
    },
  },
});

/** Formats the help of the keys, such as `c create a contract`, one line per key. */
const formatKeyHelp = (): readonly string[] => [
  ...Object.entries(keyActions).map(([key, { summary }]) => `  ${key}  ${summary}`),
  "  ?  show the keys",
  "  q  quit",
];

/** Creates the handler of pressed keys. Actions run sequentially, because one can need the result of another. */
export function createKeyHandler(state: KeyActionState, context: Context, { print }: SessionScreen) {
  const announceCommand = (argv: readonly string[]) => print([dim("$ "), formatCommandLine(argv)]);
  const tools: KeyActionTools = {
    state,
    print,
    async run(argv) {
      await announceCommand(argv);
      const commandRun = await context.svc([...argv, "--json", "--yes"]);
      if (commandRun.exit === 0) return toFields(tryParseJson(commandRun.stdout));
      await print([red(findErrorMessage(commandRun))]);
      return undefined;
    },
    async show(argv) {
      await announceCommand(argv);
      const { stdout, stderr } = await context.svc([...argv, "--yes"]);
      await print(...`${stdout}${stderr}`.split("\n").filter((line) => line !== ""));
    },
  };
  let lastAction: Promise<void> = Promise.resolve();

  return (key: string): void => {
    if (key === "?") return void print(...formatKeyHelp());
    const perform = keyActions[key]?.perform;
    if (!perform) return;
    lastAction = lastAction.then(() =>
      perform(tools).catch((error: unknown) => print(`error: ${(error as Error).message}`)),
    );
  };
}

/** Returns the error message of a failed command, or the last line of its error output. */
function findErrorMessage({ stderr: err, exit }: CapturedRun): string {
  const last = err.trim().split("\n").at(-1)!;
  const { message, hint } = toFields(toFields(tryParseJson(last)).error);
  const texts = [message, hint].filter((text) => typeof text === "string" && text !== "");
  return texts.join(" ") || last || `The command ended with exit code ${exit}.`;
}
