import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const controlInvitationFailures = {
  "no-such-invitation": control({
    status: 404,
    when: "no cluster issued that token, and the seed has it nowhere",
    basis: ours,
    code: "no_such_invitation",
    says: "No invitation has this token.",
    hint: "List them with `svc emulator invitations`.",
  }),
  "invitation-of-nobody": control({
    status: 409,
    when: "the token is one of the seed, which says nothing of a person",
    basis: ours,
    code: "invitation_of_nobody",
    says: ({ workspace }: { workspace: string }) =>
      `The seed gives this token to the workspace ${workspace} and names nobody who could accept it.`,
    hint: "Invite somebody: `svc trial complete` with invited_users.",
  }),
  "invitation-to-contract": control({
    status: 409,
    when: "the invitation is to a contract",
    basis: ours,
    code: "invitation_to_contract",
    says: ({ email, contract }: { email: string; contract: string }) =>
      `The invitation of ${email} is to the contract ${contract}: it is not accepted, but ends with the contract.`,
    hint: "Open its link (`svc emulator invitations`), or sign for them: `svc emulator sign`.",
  }),
  "invitation-over": control({
    status: 409,
    when: "the invitation was accepted before",
    basis: ours,
    code: "invitation_over",
    says: ({ email }: { email: string }) => `${email} has accepted this invitation already.`,
  }),
};
