import { openReceiver, type ReceivedPost, type Receiver } from "../connection/receiver.ts";

/** A receiver of webhooks in a story, as its steps refer to it: `$app.url`. */
export interface StoryReceiver {
  readonly url: string;
  /** Id of the webhook to it; undefined where no step has created one. */
  webhook: number | undefined;
  readonly count: number;
  readonly last: { readonly body: string; readonly signature: string } | undefined;
}

type Answer = number | "down";

/** Nothing listens at this address: the port is that of the discard service, which only the system may have. */
const closedAddress = "http://127.0.0.1:9/hooks";

/** Opens a built-in receiver that answers these statuses, the last one for good; `close` ends it. */
export async function openStoryReceiver(
  answers: readonly Answer[],
): Promise<{ readonly receiver: StoryReceiver; close(): Promise<void> }> {
  if (answers[0] === "down") return { receiver: receiverAt(closedAddress), close: async () => {} };
  const received: ReceivedPost[] = [];
  const opened: Receiver = await openReceiver({
    async answer(post) {
      received.push(post);
      const status = answers[Math.min(received.length, answers.length) - 1] ?? 200;
      // Nothing can stop to listen for a while: what is no answer to the sender comes near it.
      const code = status === "down" ? 503 : status;
      return { status: code, body: code < 300 ? "ok" : "no" };
    },
  });
  return { receiver: receiverAt(`${opened.url}/hooks`, received), close: () => opened.close() };
}

/** A receiver at an address. Of a program nothing is known that it received. */
export const receiverAt = (url: string, received: readonly ReceivedPost[] = []): StoryReceiver => ({
  url,
  webhook: undefined,
  get count() {
    return received.length;
  },
  get last() {
    const post = received.at(-1);
    if (post === undefined) return undefined;
    return {
      body: post.body.toString("utf8"),
      signature: String(post.headers["x-svc-webhook-content-hash"] ?? ""),
    };
  },
});
