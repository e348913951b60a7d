import { retryDelaysMs } from "../webhook-retries.ts";
import { type Attempt, blamedFault } from "./attempts.ts";

/** Something that somebody may do, with the command that does it, where one does. */
export interface Step {
  readonly kind: "fault" | "allow" | "mend" | "enable" | "resend";
  readonly words: string;
  readonly command?: string;
}

/** What the answer of a receiver, or its silence, meant at the last attempt, for it may be otherwise by now; and what to do. */
export interface Cause {
  readonly means?: string;
  readonly steps: readonly Step[];
}

const mend = (words: string, command?: string): Step => ({
  kind: "mend",
  words,
  ...(command !== undefined && { command }),
});

/** Of an attempt that failed. Scripted trouble is no fault of the receiver, which is not to be mended then. */
export function causeOf(attempt: Pick<Attempt, "status" | "error" | "fault">): Cause {
  if (blamedFault(attempt) !== undefined) return { steps: [] };
  const { status, error } = attempt;
  return (status === null ? bySilence.get(error?.code ?? "") : byStatus(status)) ?? mendIt;
}

const mendIt: Cause = { steps: [mend("Mend the receiver.")] };

const delays = retryDelaysMs.map((ms) => ms / 60_000);
const schedule = `${delays.slice(0, -1).join(", ")} and ${delays.at(-1)} minutes after the one before`;

const refused: Cause = {
  means: "It refused at the last attempt who sends: its check of the signature, or of a header, did not hold.",
  steps: [
    mend(
      "Have the receiver keep the body and the headers that it refuses, then see why the signature does not match",
      "svc webhooks explain body.json --headers headers.txt",
    ),
    mend("To check one with the key of the workspace", "svc webhooks verify body.json --headers headers.txt"),
  ],
};

const statuses = new Map<number, Cause>([
  [401, refused],
  [403, refused],
  [404, { means: "Nothing was at that path at the last attempt.", steps: [mend("Mend its path, or the receiver.")] }],
  [405, { means: "It took no POST there at the last attempt.", steps: [mend("Let it take POST.")] }],
  [
    410,
    {
      means:
        "It said at the last attempt that nothing is there any more; that counts as any other failure, and it is tried again.",
      steps: [mend("Subscribe the address that it has now, or delete the webhook.")],
    },
  ],
  [
    429,
    {
      means: `It was asked too much at the last attempt. Its Retry-After is not heeded: the schedule is fixed, each retry ${schedule}.`,
      steps: [mend("Let the receiver take more at a time.")],
    },
  ],
]);

function byStatus(status: number): Cause | undefined {
  const known = statuses.get(status);
  if (known) return known;
  if (status >= 300 && status < 400)
    return {
      means: "Redirects are not followed.",
      steps: [mend("Subscribe the address that it redirects to.")],
    };
  if (status >= 500) return { steps: [mend("Mend the receiver: its own log says why it failed.")] };
  return undefined;
}

const late: Cause = {
  steps: [
    mend("Let the receiver answer at once, and do its work afterwards; or start the emulator with more patience."),
  ],
};

const bySilence = new Map<string, Cause>([
  ["response_timeout", late],
  [
    "connect_timeout",
    { steps: [mend("See whether the receiver runs, and whether its address can be reached from here.")] },
  ],
  [
    "connection_refused",
    {
      means: "Nobody listened there at the last attempt.",
      steps: [mend("Start the receiver, unless it runs by now.")],
    },
  ],
  ["name_not_found", { steps: [mend("Mend the name of the host in its URL.")] }],
  ["tls_error", { steps: [mend("Give the receiver a certificate that is trusted here, or an address with http.")] }],
]);
