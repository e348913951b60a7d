import type { Posted } from "../http/outgoing/outgoing.ts";
import type { Cause } from "../store/cause.ts";

/** What a script may go by when it chooses an attempt. */
export interface AboutToSend {
  readonly delivery: { readonly id: number };
  /** Of the attempt, from 1. */
  readonly number: number;
  readonly resend: boolean;
  readonly event: { readonly activity: string; readonly contract_id?: number | null | undefined };
  readonly subscription: { readonly id: number; readonly url: string };
}

/** What is about to be signed and sent. */
export interface Message {
  readonly body: Uint8Array;
  readonly hmacKey: string;
  /** Sent in the place of `body`, which is signed nevertheless. */
  readonly sent?: Uint8Array;
}

/** How an attempt goes that is interfered with: with the way to send, which may be used twice or not at all. */
export type Send = (message: Message, send: (message: Message) => Promise<Posted>) => Promise<Posted>;

/** An attempt is put off by so much virtual time, or behind the next one of its subscription, if that is sooner. */
export interface PutOff {
  readonly byMs: number;
  readonly behindNext: boolean;
}

/** What is done to an attempt, in a word, and what scripted that. */
export interface Interference {
  readonly effect: string;
  readonly cause: Cause | undefined;
}

/** Scripted trouble on the way out: asked once, when an attempt is about to begin. Undefined: it goes as it should. */
export type Intervene = (
  about: AboutToSend,
) => (Interference & ({ readonly putOff: PutOff } | { readonly send: Send })) | undefined;
