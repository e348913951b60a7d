import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const controlTraceFailures = {
  "no-such-trace": control({
    status: 404,
    when: "nothing of that name happened, nothing followed from it, or it is kept no longer",
    basis: ours,
    code: "no_such_trace",
    says: ({ ref }: { ref: string }) => `Nothing is kept of ${ref}.`,
    hint: "Requests that changed nothing are not kept: `svc emulator requests` lists them.",
  }),
  "malformed-ref": control({
    status: 404,
    when: "it is none of the names that things have in traces",
    basis: ours,
    code: "malformed_ref",
    says: ({ ref }: { ref: string }) => `"${ref}" names nothing that has a trace.`,
    hint: "Say request:12, T-1, delivery:3, event:4, webhook:1, timer:5, advance:6, or a W3C trace id of 32 hexadecimal digits.",
  }),
};
