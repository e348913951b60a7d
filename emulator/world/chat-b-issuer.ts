import * as z from "zod";
import { dictionary } from "../../src/api/dictionary.ts";
import { rows, type View } from "../store/port.ts";

/** A public key as the issuer of chat_b publishes it: RFC 7517, and the channels that it may speak for. */
export interface IssuerKey {
  readonly kid: string;
  readonly kty: string;
  readonly endorsements?: readonly string[];
  readonly [member: string]: unknown;
}

/** The private key of the emulator's own issuer: made by the control plane when it is first needed, and kept. */
const ChatBKey = z.strictObject({ kid: z.string(), jwk: dictionary(z.string()) });

export const chatBKeys = rows<z.infer<typeof ChatBKey>>({
  name: "chat_b_keys",
  schema: ChatBKey,
  key: (row) => row.kid,
  indexes: {},
});

/** The channels that our key may speak for, so that the rule about endorsements is met in every test. */
const endorsements = ["msteams", "emulator", "directline", "webchat"];

/** The public keys of the emulator's own issuer; none before the first token was minted. */
export const publicChatBKeys = async (view: View): Promise<IssuerKey[]> =>
  (await view.list(chatBKeys)).map(({ kid, jwk }) => ({
    kty: "RSA",
    use: "sig",
    kid,
    n: jwk.n,
    e: jwk.e,
    endorsements,
  }));
