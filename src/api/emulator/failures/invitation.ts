import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

export const controlInvitationFailures = {
  "no-such-invitation": control({
    status: 404,
    when: "no cluster and no seed issued that token",
    basis: ours,
    code: "no_such_invitation",
    says: "Invitation not found for this token.",
    hint: "List them with `svc emulator invitations`.",
  }),
  "invitation-of-nobody": control({
    status: 409,
    when: "the token is from the seed and invites no particular person",
    basis: ours,
    code: "invitation_of_nobody",
    says: ({ workspace }: { workspace: string }) =>
      `This token is from the seed, for the workspace ${workspace}, and invites no particular person.`,
    hint: "Invite a person: `svc trial complete` with invited_users.",
  }),
  "invitation-to-contract": control({
    status: 409,
    when: "the invitation is to a contract",
    basis: ours,
    code: "invitation_to_contract",
    says: ({ email, contract }: { email: string; contract: string }) =>
      `The invitation of ${email} to the contract ${contract} cannot be accepted. It ends with the contract.`,
    hint: "Open its link (`svc emulator invitations`), or sign with `svc emulator sign`.",
  }),
  "invitation-over": control({
    status: 409,
    when: "the invitation was accepted before",
    basis: ours,
    code: "invitation_over",
    says: ({ email }: { email: string }) => `${email} has already accepted this invitation.`,
  }),
};
