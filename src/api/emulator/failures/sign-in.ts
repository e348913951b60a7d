import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

/** What approving a device and the stand-in provider may refuse with. */
export const controlSignInFailures = {
  "no-such-user-code": control({
    status: 404,
    when: "no device grant has that user code",
    basis: ours,
    code: "no_such_user_code",
    says: ({ code }: { code: string }) => `No device waits under the user code ${code}.`,
    hint: "List those that wait with `svc emulator devices`.",
  }),
  "user-code-expired": control({
    status: 410,
    when: "the user code has expired",
    basis: ours,
    code: "user_code_expired",
    says: ({ code }: { code: string }) => `The user code ${code} has expired.`,
    hint: "Let the device ask for a new one.",
  }),
  "user-code-decided": control({
    status: 409,
    when: "somebody decided about the user code before, differently or at another cluster",
    basis: ours,
    code: "user_code_decided",
    says: ({ code }: { code: string }) => `Somebody has decided about the user code ${code} already.`,
  }),
  "user-code-bound": control({
    status: 409,
    when: "another cluster bound the device grant to itself",
    basis: ours,
    code: "user_code_bound",
    says: ({ code }: { code: string }) => `The user code ${code} is bound to another cluster.`,
    hint: "`svc emulator devices` names the cluster.",
  }),
  "no-such-cluster-here": control({
    status: 404,
    when: "the emulator has no such cluster",
    basis: ours,
    code: "no_such_cluster",
    says: ({ cluster, known }: { cluster: string; known: readonly string[] }) =>
      `The emulator has no cluster ${cluster}; it has ${known.join(", ")}.`,
  }),
  "no-such-person": control({
    status: 404,
    when: "nobody active at the cluster has that address",
    basis: ours,
    code: "no_such_person",
    says: ({ email }: { email: string }) => `No active user of the cluster has the address ${email}.`,
  }),
  "stale-form": control({
    status: 403,
    when: "the form does not come from a page that this emulator showed since it was started",
    basis: ours,
    code: "stale_form",
    says: "The form was not made by this emulator.",
    hint: "Load the page again.",
  }),
};
