import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

export const controlTraceFailures = {
  "no-such-trace": control({
    status: 404,
    when: "the reference does not exist, has no effects, or is no longer retained",
    basis: ours,
    code: "no_such_trace",
    says: ({ ref }: { ref: string }) => `${ref} has no trace.`,
    hint: "Requests that changed nothing have no trace. `svc emulator requests` lists them.",
  }),
  "malformed-ref": control({
    status: 404,
    when: "the reference is not valid",
    basis: ours,
    code: "malformed_ref",
    says: ({ ref }: { ref: string }) => `"${ref}" is not a valid trace reference.`,
    hint: "Use request:12, T-1, delivery:3, event:4, webhook:1, timer:5, advance:6 or a W3C trace ID.",
  }),
};
