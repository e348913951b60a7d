import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

export const controlChatBFailures = {
  "foreign-issuer": control({
    status: 409,
    when: "the seed names another issuer of bot-framework tokens than the emulator's own",
    basis: assumed("The control plane is the emulator's own."),
    code: "foreign_issuer",
    says: ({ url }: { url: string }) => `The router trusts the issuer at ${url}, whose keys are not the emulator's.`,
    hint: "Ask that issuer for a token, or leave apps.chat_b.openid_metadata_url out of the seed.",
  }),
};
