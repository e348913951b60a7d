import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

export const controlChatBFailures = {
  "foreign-issuer": control({
    status: 409,
    when: "the seed sets another issuer of bot-framework tokens than the emulator",
    basis: assumed("The control plane is part of the emulator."),
    code: "foreign_issuer",
    says: ({ url }: { url: string }) => `The router trusts the issuer at ${url}, not the emulator's own issuer.`,
    hint: "Request a token from that issuer, or remove apps.chat_b.openid_metadata_url from the seed.",
  }),
};
