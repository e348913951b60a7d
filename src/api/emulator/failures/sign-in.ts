import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

/** What approving a device and the stand-in provider may refuse with. */
export const controlSignInFailures = {
  "no-such-user-code": control({
    status: 404,
    when: "no device grant has that user code",
    basis: ours,
    code: "no_such_user_code",
    says: ({ code }: { code: string }) => `No device has the user code ${code}.`,
    hint: "List the devices with `svc emulator devices`.",
  }),
  "user-code-expired": control({
    status: 410,
    when: "the user code has expired",
    basis: ours,
    code: "user_code_expired",
    says: ({ code }: { code: string }) => `The user code ${code} has expired.`,
    hint: "Request a new code on the device.",
  }),
  "user-code-decided": control({
    status: 409,
    when: "the user code was already decided, differently or at another cluster",
    basis: ours,
    code: "user_code_decided",
    says: ({ code }: { code: string }) => `The user code ${code} was already approved or denied.`,
  }),
  "user-code-bound": control({
    status: 409,
    when: "another cluster bound the device grant to itself",
    basis: ours,
    code: "user_code_bound",
    says: ({ code }: { code: string }) => `The user code ${code} is bound to another cluster.`,
    hint: "Run `svc emulator devices` to see the cluster.",
  }),
  "no-such-cluster-here": control({
    status: 404,
    when: "the emulator has no such cluster",
    basis: ours,
    code: "no_such_cluster",
    says: ({ cluster, known }: { cluster: string; known: readonly string[] }) =>
      `Cluster ${cluster} not found. Known: ${known.join(", ")}.`,
  }),
  "no-such-person": control({
    status: 404,
    when: "the cluster has no active user with that address",
    basis: ours,
    code: "no_such_person",
    says: ({ email }: { email: string }) => `The cluster has no active user with the address ${email}.`,
  }),
  "stale-form": control({
    status: 403,
    when: "the form is not from a page of this run of the emulator",
    basis: ours,
    code: "stale_form",
    says: "The form was not made by this emulator.",
    hint: "Load the page again.",
  }),
};
